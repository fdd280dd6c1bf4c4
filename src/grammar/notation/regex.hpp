// SPDX-License-Identifier: Apache-2.0
// Regular expressions as ECMAScript writes them (JSON schemas name no other), without what is not
// regular: look-around, back references, word boundaries.
#pragma once

#include <string_view>

#include "grammar/automaton/grammar.hpp"

namespace bittern::grammar {

struct RegexOptions {
  bool search = false;  ///< the pattern may stand anywhere in the text; else it is the whole text
  bool json = false;    ///< characters are written as in a JSON string
};

/// The texts that match, as an expression of `grammar`. Error kInvalidArgument names the place,
/// what was expected and what was found.
[[nodiscard]] Result<ExprId> AddRegex(std::string_view pattern, const RegexOptions& options,
                                      Grammar* grammar);

/// A grammar of one rule.
[[nodiscard]] Result<Grammar> ParseRegex(std::string_view pattern);

}  // namespace bittern::grammar
