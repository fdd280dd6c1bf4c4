// SPDX-License-Identifier: Apache-2.0
// The four kinds of characters that pre-tokenizer patterns tell apart.
#pragma once

#include <cstdint>

namespace bittern::tokenizer {

enum class CharClass : std::uint8_t {
  kLetter,  ///< \p{L}: general category Lu, Ll, Lt, Lm, Lo
  kNumber,  ///< \p{N}: Nd, Nl, No
  kSpace,   ///< \s: property White_Space
  kOther,   ///< everything else: marks, punctuation, symbols, controls, unassigned
};

/// The class of a Unicode scalar value. `\s` is the White_Space property, as the regular
/// expression libraries behind the reference tokenizers read it: U+0085 is in, U+180E, U+200B and
/// U+FEFF are not. Category Z plus ASCII is not the same set.
[[nodiscard]] CharClass ClassOf(char32_t code_point) noexcept;

/// \p{P}: general category Pc, Pd, Ps, Pe, Pi, Pf, Po. In ASCII that leaves out $+<=>^`|~.
[[nodiscard]] bool IsPunctuation(char32_t code_point) noexcept;

}  // namespace bittern::tokenizer
