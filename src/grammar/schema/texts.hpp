// SPDX-License-Identifier: Apache-2.0
// How many texts an expression has, so far as its rules are defined.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "grammar/automaton/grammar.hpp"

namespace bittern::grammar {

inline constexpr std::uint64_t kWithoutEnd = std::uint64_t{1} << 40;

/// The texts of an expression that is a choice of few; nothing for others.
[[nodiscard]] std::optional<std::vector<std::string>> FewTexts(const Grammar& grammar, ExprId id);

/// The number of texts that the part marked kDiffers can always take, kWithoutEnd at most; 0 if
/// some text has no such part.
[[nodiscard]] std::uint64_t FreshTexts(const Grammar& grammar, ExprId id);

}  // namespace bittern::grammar
