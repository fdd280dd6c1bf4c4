// SPDX-License-Identifier: Apache-2.0
// Numbers between bounds, written in decimal without an exponent.
#pragma once

#include <optional>
#include <string>

#include "grammar/automaton/grammar.hpp"

namespace bittern::grammar {

/// A decimal: digits before and after the point, without needless zeros.
struct Decimal {
  bool negative = false;
  std::string whole = "0", fraction = "";

  /// From what `%.17g` and JSON write, exponents included; nothing if it is beyond 10^18 or finer
  /// than 10^-18.
  [[nodiscard]] static std::optional<Decimal> Parse(std::string_view text);
  [[nodiscard]] bool is_zero() const noexcept { return whole == "0" && fraction.empty(); }
};

struct NumberBounds {
  std::optional<Decimal> least, most;
  bool above_least = false, below_most = false;  ///< the bound itself is not allowed
  bool whole = false;                            ///< integers only
};

/// The numbers inside the bounds; kNothing if there are none. Fractions have 16 digits at most.
[[nodiscard]] ExprId BoundedNumber(const NumberBounds& bounds, Grammar* grammar);

/// Multiples of `step`, 1 to 1000, that are 0 or more, or negative ones, too. They have 15 digits
/// at most, 6 at least.
[[nodiscard]] ExprId MultiplesOf(std::uint32_t step, bool negative, Grammar* grammar);

}  // namespace bittern::grammar
