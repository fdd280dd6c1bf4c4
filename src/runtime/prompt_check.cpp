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

std::string_view BeginningThatIsTooLong(std::string_view text,
                                        const tokenizer::Tokenizer& tokenizer, int context_length) {
  const auto most = static_cast<std::size_t>(context_length);
  if (most == 0 || text.size() <= most) return text;
  std::size_t end = (most + 1) * tokenizer.longest_token();
  if (end >= text.size()) return text;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end);
}

/// Bytes without a token may leave room after all: then everything is read.
ReadText ReadWithinContext(std::string_view text, const tokenizer::Tokenizer& tokenizer,
                           const tokenizer::EncodeOptions& options, int context_length) {
  const std::string_view beginning = BeginningThatIsTooLong(text, tokenizer, context_length);
  ReadText read{.ids = tokenizer.Encode(beginning, options)};
  read.cut = beginning.size() < text.size();
  if (!read.cut || read.ids.size() > static_cast<std::size_t>(context_length)) return read;
  return {.ids = tokenizer.Encode(text, options)};
}

}  // namespace bittern::runtime
