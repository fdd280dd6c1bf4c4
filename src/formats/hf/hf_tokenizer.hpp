// SPDX-License-Identifier: Apache-2.0
// The tokenizer of a Hugging Face folder as GGUF's tokenizer.ggml.* keys. A folder says the same
// things in several files; which of them is believed is written down here.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/json/json.hpp"
#include "base/result.hpp"
#include "formats/metadata.hpp"

namespace bittern::formats {

/// The texts of the files that a folder has.
struct HfTokenizerTexts {
  std::optional<std::string_view> tokenizer_json = std::nullopt;
  std::optional<std::string_view> tokenizer_model = std::nullopt;
  std::optional<std::string_view> tokenizer_config = std::nullopt;
  std::optional<std::string_view> added_tokens = std::nullopt;
  std::optional<std::string_view> special_tokens_map = std::nullopt;
  std::optional<std::string_view> generation_config = std::nullopt;
  std::optional<std::string_view> chat_template = std::nullopt;
};

struct HfTokenizerFile {
  const char* name;
  std::optional<std::string_view> HfTokenizerTexts::* text;
};
inline constexpr HfTokenizerFile kHfTokenizerFiles[] = {
    {"tokenizer.json", &HfTokenizerTexts::tokenizer_json},
    {"tokenizer.model", &HfTokenizerTexts::tokenizer_model},
    {"tokenizer_config.json", &HfTokenizerTexts::tokenizer_config},
    {"added_tokens.json", &HfTokenizerTexts::added_tokens},
    {"special_tokens_map.json", &HfTokenizerTexts::special_tokens_map},
    {"generation_config.json", &HfTokenizerTexts::generation_config},
    {"chat_template.jinja", &HfTokenizerTexts::chat_template},
};

/// Adds tokenizer.ggml.* and tokenizer.chat_template. Nothing, where there is neither
/// tokenizer.json nor tokenizer.model: a model can be run on ids without.
///
/// - Vocabulary: tokenizer.json; where that is a SentencePiece model in Hugging Face's form,
///   tokenizer.model, which has the scores, plus the added tokens of tokenizer.json,
///   added_tokens.json and tokenizer_config.json.
/// - BOS and EOS: the ids of generation_config.json, then config.json, then the names in
///   tokenizer_config.json and special_tokens_map.json.
/// - Whether BOS is added: the post-processor of tokenizer.json, but for LlamaTokenizer classes
///   add_bos_token of tokenizer_config.json.
///
/// `config` is config.json; rows that the vocabulary does not fill up to vocab_size become
/// unused tokens. Errors name the file: kCorruptFile, kUnsupported (model type, normalizer,
/// pre-tokenizer).
[[nodiscard]] Result<void> ReadHfTokenizer(const HfTokenizerTexts& texts, const Json& config,
                                           std::uint64_t vocab_size, Metadata* metadata);

}  // namespace bittern::formats
