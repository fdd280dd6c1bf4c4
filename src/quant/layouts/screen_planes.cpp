// SPDX-License-Identifier: Apache-2.0
#include "quant/layouts/screen_planes.hpp"

#include <cstring>

#include "quant/layouts/tile16.hpp"

namespace bittern::quant {
namespace {

constexpr std::size_t kLine = 64;

/// The code as 0..255.
unsigned Unsigned(std::int8_t code) { return static_cast<std::uint8_t>(code) ^ 0x80u; }

std::uint32_t LoadWord(const std::int8_t* codes) {
  std::uint32_t word;
  std::memcpy(&word, codes, sizeof(word));
  return word ^ 0x80808080u;
}

}  // namespace

void PackNibbles(const std::int8_t* codes, std::size_t padded_cols, std::uint8_t* tile) noexcept {
  for (std::size_t r = 0; r < kTileRows; ++r) {
    const std::int8_t* row = codes + r * padded_cols;
    std::uint8_t* out = tile + 4 * r;
    for (std::size_t c = 0; c < padded_cols; c += 8, out += kLine) {
      const std::uint32_t low = LoadWord(row + c) >> 4 & 0x0f0f0f0fu;
      const std::uint32_t word = low | (LoadWord(row + c + 4) & 0xf0f0f0f0u);
      std::memcpy(out, &word, sizeof(word));
    }
  }
}

/// Bit 3 of each code; the nibbles above hold bits 7 to 4. Bit f of byte b of a word is column
/// c + 4 f + b.
void PackBits(const std::int8_t* codes, std::size_t padded_cols, std::uint8_t* tile) noexcept {
  for (std::size_t r = 0; r < kTileRows; ++r) {
    const std::int8_t* row = codes + r * padded_cols;
    std::uint8_t* out = tile + 4 * r;
    for (std::size_t c = 0; c < padded_cols; c += 32, out += kLine) {
      std::uint32_t word = 0;
      for (unsigned f = 0; f < 8; ++f) word |= (LoadWord(row + c + 4 * f) >> 3 & 0x01010101u) << f;
      std::memcpy(out, &word, sizeof(word));
    }
  }
}

void PackPairs(const std::int8_t* codes, std::size_t padded_cols, std::uint8_t* pairs) noexcept {
  for (std::size_t block = 0; block < padded_cols; block += 4 * kLine, pairs += kLine) {
    for (std::size_t b = 0; b < kLine; ++b) {
      unsigned byte = 0;
      for (unsigned f = 0; f < 4; ++f) {
        byte |= (Unsigned(codes[block + f * kLine + b]) >> 1 & 3) << (2 * f);
      }
      pairs[b] = static_cast<std::uint8_t>(byte);
    }
  }
}

}  // namespace bittern::quant
