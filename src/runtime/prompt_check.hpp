// SPDX-License-Identifier: Apache-2.0
// The one rule about tokens that a model is to read: there are some, their ids are inside the
// vocabulary, and they fit. Every way in asks here, so every way in says the same words.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.hpp"
#include "tokenizer/tokenizer.hpp"

namespace bittern::runtime {

/// Error kInvalidArgument: an id outside 0..vocab_size-1.
[[nodiscard]] Result<void> CheckIds(std::span<const tokenizer::TokenId> ids, int vocab_size);

/// True if `ids` can run behind `used` tokens of a context. Errors: kInvalidArgument (there are
/// none, an id outside the vocabulary), kContextFull.
[[nodiscard]] Result<void> CheckPrompt(std::span<const tokenizer::TokenId> ids, int vocab_size,
                                       int context_length, std::size_t used = 0);

}  // namespace bittern::runtime
