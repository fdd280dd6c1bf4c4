// SPDX-License-Identifier: Apache-2.0
// The one rule about tokens that a model is to read: there are some, their ids are inside the
// vocabulary, and they fit. Every way in asks here, so every way in says the same words.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "tokenizer/tokenizer.hpp"

namespace bittern::runtime {

/// Error kInvalidArgument: an id outside 0..vocab_size-1.
[[nodiscard]] Result<void> CheckIds(std::span<const tokenizer::TokenId> ids, int vocab_size);

/// True if `ids` can run behind `used` tokens of a context. Errors: kInvalidArgument (there are
/// none, an id outside the vocabulary), kContextFull.
[[nodiscard]] Result<void> CheckPrompt(std::span<const tokenizer::TokenId> ids, int vocab_size,
                                       int context_length, std::size_t used = 0);

/// A beginning of `text` that is long enough to have more than `context_length` tokens, where each
/// byte belongs to one: nothing behind it need be read to know that the text is too long. All of a
/// text that may fit; also with context_length 0, which stands for no limit. Whole characters.
[[nodiscard]] std::string_view BeginningThatIsTooLong(std::string_view text,
                                                      const tokenizer::Tokenizer& tokenizer,
                                                      int context_length);

/// Tokens of a text.
struct ReadText {
  std::vector<tokenizer::TokenId> ids = {};
  bool cut = false;  ///< only a beginning was read; it has too many tokens already
};

/// Reads no more of a text than tells that it is too long for the context; 0: all of it.
[[nodiscard]] ReadText ReadWithinContext(std::string_view text,
                                         const tokenizer::Tokenizer& tokenizer,
                                         const tokenizer::EncodeOptions& options,
                                         int context_length);

}  // namespace bittern::runtime
