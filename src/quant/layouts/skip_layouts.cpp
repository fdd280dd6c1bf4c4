// SPDX-License-Identifier: Apache-2.0
#include "quant/layouts/skip_layouts.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "quant/i2s.hpp"
#include "quant/layouts/tile16.hpp"

namespace bittern::quant {
namespace {

constexpr std::size_t kFields = 4, kGroup = kTileBlock / kFields;  // columns of a field of a block
constexpr std::uint8_t kFourZeros = 0x55;                          // four times code 1

/// One block of 128 columns of the four rows that share a byte of a panel: lines[column] is that
/// byte. Row f's field of column group g stands in bits 7-2g..6-2g of its I2_S byte.
void MixRows(const std::uint8_t* const rows[kFields], std::uint8_t lines[kTileBlock]) {
  for (std::size_t g = 0; g < kFields; ++g) {
    const unsigned shift = 6 - 2 * static_cast<unsigned>(g);
    for (std::size_t i = 0; i < kGroup; ++i) {
      const unsigned mixed = (rows[0][i] >> shift & 3u) | (rows[1][i] >> shift & 3u) << 2 |
                             (rows[2][i] >> shift & 3u) << 4 | (rows[3][i] >> shift & 3u) << 6;
      lines[g * kGroup + i] = static_cast<std::uint8_t>(mixed);
    }
  }
}

}  // namespace

void PackRows(const std::uint8_t* codes, std::size_t num_rows, std::size_t cols,
              std::uint8_t* out) noexcept {
  const std::size_t num_blocks = BlocksOfCols(cols);
  std::memset(out, kFourZeros, kTileRows * num_blocks * kI2sBlockBytes);
  for (std::size_t r = 0; r < num_rows; ++r) {
    for (std::size_t b = 0; b < num_blocks; ++b, out += kI2sBlockBytes) {
      std::uint8_t block[kTileBlock];
      std::memset(block, 1, sizeof(block));
      const std::size_t first = b * kTileBlock;
      std::memcpy(block, codes + r * cols + first, std::min(kTileBlock, cols - first));
      PackI2s(block, std::as_writable_bytes(std::span(out, kI2sBlockBytes)));
    }
  }
}

void PackPanel(const std::uint8_t* i2s_rows, std::size_t num_rows, std::size_t num_blocks,
               std::uint8_t* out, std::size_t column_bytes) noexcept {
  static constexpr auto kMissing = [] {
    std::array<std::uint8_t, kI2sBlockBytes> block{};
    block.fill(kFourZeros);
    return block;
  }();
  for (std::size_t block = 0; block < num_blocks; ++block, out += kTileBlock * column_bytes) {
    std::uint8_t lines[kPanelLineBytes][kTileBlock];
    for (std::size_t b = 0; b < kPanelLineBytes; ++b) {
      const std::uint8_t* rows[kFields];
      for (std::size_t f = 0; f < kFields; ++f) {
        const std::size_t r = f * kPanelLineBytes + b;
        rows[f] =
            r < num_rows ? i2s_rows + (r * num_blocks + block) * kI2sBlockBytes : kMissing.data();
      }
      MixRows(rows, lines[b]);
    }
    for (std::size_t c = 0; c < kTileBlock; ++c) {
      for (std::size_t b = 0; b < kPanelLineBytes; ++b) out[c * column_bytes + b] = lines[b][c];
    }
  }
}

}  // namespace bittern::quant
