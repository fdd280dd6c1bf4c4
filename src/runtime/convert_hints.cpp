// SPDX-License-Identifier: Apache-2.0
#include "runtime/convert_hints.hpp"

#include <algorithm>
#include <string_view>

#include "model/config.hpp"
#include "tokenizer/tokenizer.hpp"

namespace bittern::runtime {
namespace {

/// End-of-turn tokens by name, the most telling first.
constexpr std::string_view kTurnEnds[] = {"<|eot_id|>", "<|im_end|>", "<end_of_turn>", "<|end|>"};

/// The token that ends a turn, where it is another one than EOS; GGUF has a key of its own for it
/// (tokenizer.ggml.eot_token_id).
std::optional<std::uint32_t> EndOfTurn(const tokenizer::Tokenizer& tokenizer) {
  for (const std::string_view name : kTurnEnds) {
    for (const tokenizer::TokenId id : tokenizer.end_of_generation_ids()) {
      if (id != tokenizer.eos_id() && tokenizer.TokenBytes(id, true) == name) {
        return static_cast<std::uint32_t>(id);
      }
    }
  }
  return std::nullopt;
}

}  // namespace

/// Reads a checkpoint's configuration and tokenizer as a run would, and notes what a run had to
/// guess, so that the written file says it. What cannot be read is left out, with a decision.
formats::MetadataHints HintsFor(const formats::Checkpoint& checkpoint, Decisions* decisions) {
  formats::MetadataHints hints;
  if (const auto config = model::ReadConfig(checkpoint, decisions)) {
    hints.hidden_activation = std::string(formats::ActivationName(config->activation));
  } else {
    decisions->push_back(
        {"activation", "not written", config.error().message, true, config.error().hint});
  }
  const std::size_t before = decisions->size();
  const auto tokenizer = tokenizer::Tokenizer::FromMetadata(checkpoint.metadata(), decisions);
  if (!tokenizer) {
    decisions->push_back(
        {"pre-tokenizer", "not written", tokenizer.error().message, true, tokenizer.error().hint});
    return hints;
  }
  for (std::size_t i = before; i < decisions->size(); ++i) {
    if ((*decisions)[i].subject == "pre-tokenizer") hints.pre = (*decisions)[i].choice;
  }
  hints.eot_id = EndOfTurn(*tokenizer);
  return hints;
}

}  // namespace bittern::runtime
