// SPDX-License-Identifier: Apache-2.0
#include "model/activation.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace bittern::model {
namespace {

/// BitNet b1.58 2B-4T, the one model of this shape; it was trained with squared ReLU.
bool HasShapeOf2B4T(const ModelConfig& c) {
  return c.num_layers == 30 && c.hidden_size == 2560 && c.intermediate_size == 6912 &&
         c.num_heads == 20 && c.num_kv_heads == 5 && c.vocab_size == 128256;
}

/// SentencePiece, or the number of tokens that 1bitLLM's models have.
Result<bool> HasVocabularyOf1bitLLM(const formats::Metadata& metadata, const ModelConfig& c) {
  return BITTERN_TRY(metadata.GetString("tokenizer.ggml.model")) == "llama" ||
         c.vocab_size == 32002;
}

/// Whether the vocabulary is LLaMA-3's or one made after it: no model of 1bitLLM's, which have
/// SentencePiece, and so a model of Microsoft's line under the name that other converters give it.
Result<bool> HasVocabularyOf2B4T(const formats::Metadata& metadata) {
  if (BITTERN_TRY(metadata.GetString("tokenizer.ggml.model")) != "gpt2") return false;
  const auto tokens = BITTERN_TRY(metadata.GetStrings("tokenizer.ggml.tokens"));
  return tokens && std::ranges::find(*tokens, "<|begin_of_text|>") != tokens->end();
}

struct Choice {
  Activation activation;
  std::string reason;
  bool notable;
  std::string hint = {};
};

Result<Choice> Choose(const formats::Metadata& metadata, const ModelConfig& c) {
  const std::string key = c.architecture + ".hidden_activation";
  if (const auto named = BITTERN_TRY(metadata.GetString(key))) {
    for (const auto activation : {Activation::kRelu2, Activation::kSilu, Activation::kGelu}) {
      if (*named != formats::ActivationName(activation)) continue;
      return Choice{activation, "named by " + key, false};
    }
    return Fail(
        ErrorCode::kUnsupported,
        fmt::format("metadata key {}: expected relu2, silu or gelu, found \"{}\"", key, *named));
  }
  if (!c.traits->sub_norms) {
    return Choice{c.traits->activation, "architecture " + c.architecture, false};
  }
  const bool sentence_piece = BITTERN_TRY(HasVocabularyOf1bitLLM(metadata, c));
  if (c.architecture != "bitnet") {
    if (sentence_piece) {
      return Choice{
          Activation::kSilu,
          "labelled " + c.architecture + ", but its vocabulary is that of the 1bitLLM models",
          true};
    }
    return Choice{Activation::kRelu2, "architecture " + c.architecture, false};
  }
  if (HasShapeOf2B4T(c)) {
    return Choice{Activation::kRelu2, "architecture bitnet, but the shape of BitNet b1.58 2B-4T",
                  true};
  }
  if (BITTERN_TRY(HasVocabularyOf2B4T(metadata))) {
    return Choice{Activation::kRelu2,
                  "architecture bitnet, but the vocabulary of BitNet b1.58 2B-4T", true,
                  "override_kv=" + key + "=str:silu otherwise"};
  }
  if (sentence_piece) {
    return Choice{Activation::kSilu, "architecture bitnet, vocabulary of the 1bitLLM models",
                  false};
  }
  return Choice{Activation::kSilu,
                "architecture bitnet, as in llama.cpp, whose converter also calls models with "
                "squared ReLU so",
                true, "if the text is garbage, try override_kv=" + key + "=str:relu2"};
}

}  // namespace

Result<Activation> ResolveActivation(const formats::Metadata& metadata, const ModelConfig& config,
                                     Decisions* decisions) {
  Choice choice = BITTERN_TRY(Choose(metadata, config));
  decisions->push_back({"activation", std::string(formats::ActivationName(choice.activation)),
                        std::move(choice.reason), choice.notable, std::move(choice.hint)});
  return choice.activation;
}

}  // namespace bittern::model
