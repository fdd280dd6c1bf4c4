// SPDX-License-Identifier: Apache-2.0
// Texts that several patterns, contraries of patterns and a range of lengths allow together.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "grammar/automaton/grammar.hpp"

namespace bittern::grammar {

/// A regular expression that a text must match, or must not.
struct StringRule {
  std::string pointer;  ///< where it stands in the schema
  std::string pattern;
  bool search = false;    ///< it may match anywhere
  bool contrary = false;  ///< the text must not match

  bool operator==(const StringRule&) const = default;
};

/// The texts as they stand in a JSON string, without its quotes, least to most characters long; one
/// way of writing each. Nothing: it would be too large. `steps` gets what it took: bytes that one
/// automaton read. Error kInvalidArgument: a pattern that cannot be read, with its place.
[[nodiscard]] Result<std::optional<ExprId>> StringProduct(const std::vector<StringRule>& rules,
                                                          std::uint32_t least, std::uint32_t most,
                                                          Grammar* grammar, std::uint64_t* steps);

}  // namespace bittern::grammar
