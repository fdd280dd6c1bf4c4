// SPDX-License-Identifier: Apache-2.0
#include "runtime/prompt_check.hpp"

#include <fmt/format.h>

namespace bittern::runtime {

Result<void> CheckIds(std::span<const tokenizer::TokenId> ids, int vocab_size) {
  for (const tokenizer::TokenId id : ids) {
    if (id >= 0 && id < vocab_size) continue;
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("token id {} is outside the vocabulary (0..{})", id, vocab_size - 1));
  }
  return {};
}

Result<void> CheckPrompt(std::span<const tokenizer::TokenId> ids, int vocab_size,
                         int context_length, std::size_t used) {
  if (ids.empty()) return Fail(ErrorCode::kInvalidArgument, "there are no tokens to run");
  BITTERN_TRY(CheckIds(ids, vocab_size));
  if (ids.size() + used <= static_cast<std::size_t>(context_length)) return {};
  return Fail(ErrorCode::kContextFull,
              used == 0 ? fmt::format("the prompt has {} tokens, but the context holds {}",
                                      ids.size(), context_length)
                        : fmt::format("{} tokens do not fit: the context holds {}, {} are in use",
                                      ids.size(), context_length, used));
}

}  // namespace bittern::runtime
