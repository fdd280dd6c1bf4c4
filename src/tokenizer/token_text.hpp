// SPDX-License-Identifier: Apache-2.0
// Tokens as people read and write them. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "tokenizer/tokenizer.hpp"

namespace bittern::tokenizer {

/// A token's bytes between quotes, on one line: control characters are escaped, and where the
/// bytes are not whole characters, as for parts of an emoji, those above 0x7f are \xNN.
[[nodiscard]] std::string QuotedPiece(std::string_view bytes);

/// One token a line: its id, its piece, and "special" where it is a control token.
[[nodiscard]] std::string TokenTable(std::span<const TokenId> ids, const Tokenizer& tokenizer);

/// "2 bytes of the text have no token and are left out (the first: "x")"; REQUIRES: some were lost.
[[nodiscard]] std::string LossText(const EncodeLoss& loss);

/// Appends the ids in `text`, between white space, commas or brackets: a list as it is printed, or
/// a JSON array. Error kInvalidArgument: a word that is no id of 0 to vocab_size - 1.
[[nodiscard]] Result<void> AppendIds(std::string_view text, TokenId vocab_size,
                                     std::vector<TokenId>* ids);

}  // namespace bittern::tokenizer
