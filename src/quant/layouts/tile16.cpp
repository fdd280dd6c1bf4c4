// SPDX-License-Identifier: Apache-2.0
#include "quant/layouts/tile16.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "quant/layouts/transpose.hpp"

namespace bittern::quant {
namespace {

constexpr std::size_t kSteps = 8;  // 64-byte steps of a block
constexpr std::size_t kStepBytes = 4 * kTileRows;
constexpr std::uint32_t kFourZeroBytes = 0x55555555;  // sixteen times code 1
constexpr std::size_t kWords = 4;                     // of a vector

}  // namespace

void RepackI2sTile(const std::byte* i2s_rows, std::size_t num_rows, std::size_t num_blocks,
                   std::uint8_t* tile) noexcept {
  const std::size_t row_bytes = num_blocks * kSteps * 4;
  for (std::size_t step = 0; step < num_blocks * kSteps; step += kWords) {
    for (std::size_t row = 0; row < kTileRows; row += kWords) {
      std::array<Words4, kWords> words;
      for (std::size_t r = 0; r < kWords; ++r) {
        words[r] = row + r < num_rows
                       ? LoadVector<Words4>(i2s_rows + (row + r) * row_bytes + step * 4)
                       : Words4{kFourZeroBytes, kFourZeroBytes, kFourZeroBytes, kFourZeroBytes};
      }
      Transpose(&words);
      for (std::size_t i = 0; i < kWords; ++i) {
        std::memcpy(tile + (step + i) * kStepBytes + row * 4, &words[i], sizeof(words[i]));
      }
    }
  }
}

void PackTile(const std::uint8_t* codes, std::size_t num_rows, std::size_t cols,
              std::uint8_t* tile) noexcept {
  const std::size_t num_blocks = BlocksOfCols(cols);
  for (std::size_t b = 0; b < num_blocks; ++b) {
    for (std::size_t r = 0; r < kTileRows; ++r) {
      const std::size_t first = b * kTileBlock, left = cols - first;
      std::uint8_t padded[kTileBlock];
      const std::uint8_t* block = padded;
      if (r < num_rows && left >= kTileBlock) {
        block = codes + r * cols + first;
      } else {
        std::memset(padded, 1, sizeof(padded));
        if (r < num_rows) std::memcpy(padded, codes + r * cols + first, left);
      }
      // The block as I2_S has it: a step is four of its bytes.
      std::uint8_t bytes[kTileBlock / 4];
      for (std::size_t i = 0; i < kTileBlock / 4; ++i) {
        bytes[i] = static_cast<std::uint8_t>(block[i] << 6 | block[32 + i] << 4 |
                                             block[64 + i] << 2 | block[96 + i]);
      }
      std::uint8_t* out = tile + b * kTileBlockBytes + 4 * r;
      for (std::size_t step = 0; step < kSteps; ++step) {
        std::memcpy(out + step * kStepBytes, bytes + 4 * step, 4);
      }
    }
  }
}

unsigned CodeInTile(const std::uint8_t* tile, std::size_t row, std::size_t col) noexcept {
  const std::size_t block = col / kTileBlock, j = col % kTileBlock;
  const std::size_t field = j / 32, step = j % 32 / 4, i = j % 4;
  const unsigned byte = tile[block * kTileBlockBytes + step * kStepBytes + row * 4 + i];
  return byte >> (6 - 2 * field) & 3;
}

}  // namespace bittern::quant
