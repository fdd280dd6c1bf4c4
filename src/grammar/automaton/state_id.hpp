// SPDX-License-Identifier: Apache-2.0
// The number of a state of an automaton (automaton.hpp).
#pragma once

#include <cstdint>

namespace bittern::grammar {

using StateId = std::uint32_t;
inline constexpr StateId kDead = 0xffffffffu;     ///< no text of the grammar begins so
inline constexpr StateId kTooMuch = 0xfffffffeu;  ///< beyond the limits of Automaton

}  // namespace bittern::grammar
