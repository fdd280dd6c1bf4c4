// SPDX-License-Identifier: Apache-2.0
// Five ternary digits in a byte, as llama.cpp's TQ1_0 and ik_llama.cpp's IQ1_BN store them.
//
// The five digits form a base-3 number v, 0..242, and the byte is ceil(v * 256 / 243): a binary
// fraction of v / 243, so that multiplying by 3 shifts one digit out at the top:
// digit n = ((byte * 3^n mod 256) * 3) >> 8. Digit 0 is the most significant.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace bittern::quant {

inline constexpr std::size_t kTritsPerByte = 5;

/// Digits 0..4 of every byte.
using TritTable = std::array<std::array<std::uint8_t, kTritsPerByte>, 256>;

[[nodiscard]] constexpr TritTable MakeTritTable() noexcept {
  TritTable table = {};
  for (unsigned byte = 0; byte < 256; ++byte) {
    unsigned fraction = byte;
    for (auto& digit : table[byte]) {
      digit = static_cast<std::uint8_t>(fraction * 3 >> 8);
      fraction = fraction * 3 & 0xff;
    }
  }
  return table;
}
inline constexpr TritTable kTrits = MakeTritTable();

/// The byte of up to five digits (each 0..2), missing ones 0. digits: digit n at n * stride.
[[nodiscard]] constexpr std::uint8_t PackTrits(const std::uint8_t* digits, std::size_t count,
                                               std::size_t stride) noexcept {
  unsigned v = 0;
  for (std::size_t n = 0; n < kTritsPerByte; ++n) v = v * 3 + (n < count ? digits[n * stride] : 0);
  return static_cast<std::uint8_t>((v * 256 + 242) / 243);
}

}  // namespace bittern::quant
