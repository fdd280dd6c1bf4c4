// SPDX-License-Identifier: Apache-2.0
#include "quant/layouts/skip_layouts.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "quant/i2s.hpp"
#include "quant/layouts/tile16.hpp"
#include "quant/layouts/transpose.hpp"

namespace bittern::quant {
namespace {

constexpr std::size_t kFields = 4, kGroup = kTileBlock / kFields;  // columns of a field of a block
constexpr std::uint8_t kFourZeros = 0x55;                          // four times code 1

/// A group of columns, whose codes stand in bits kShift+1..kShift of the rows' bytes.
template <int kShift>
void MixGroup(const std::uint8_t* const rows[kFields], std::uint8_t* lines) noexcept {
  for (std::size_t i = 0; i < kGroup; i += sizeof(Bytes16)) {
    const auto field = [&](std::size_t f) {
      return LoadVector<Bytes16>(rows[f] + i) >> kShift & 3;
    };
    const Bytes16 mixed = field(0) | field(1) << 2 | field(2) << 4 | field(3) << 6;
    std::memcpy(lines + i, &mixed, sizeof(mixed));
  }
}

/// One block of 128 columns of the four rows that share a byte of a panel: lines[column] is that
/// byte. Column group g of a row stands in bits 7-2g..6-2g of its I2_S bytes.
void MixRows(const std::uint8_t* const rows[kFields], std::uint8_t lines[kTileBlock]) noexcept {
  MixGroup<6>(rows, lines);
  MixGroup<4>(rows, lines + kGroup);
  MixGroup<2>(rows, lines + 2 * kGroup);
  MixGroup<0>(rows, lines + 3 * kGroup);
}

/// Line b of a block is byte b of its columns.
void WriteColumns(const std::uint8_t lines[kPanelLineBytes][kTileBlock], std::uint8_t* out,
                  std::size_t column_bytes) noexcept {
  constexpr std::size_t kSquare = sizeof(Bytes16);
  for (std::size_t c = 0; c < kTileBlock; c += kSquare) {
    for (std::size_t b = 0; b < kPanelLineBytes; b += kSquare) {
      std::array<Bytes16, kSquare> square;
      for (std::size_t i = 0; i < kSquare; ++i) square[i] = LoadVector<Bytes16>(&lines[b + i][c]);
      Transpose(&square);
      for (std::size_t i = 0; i < kSquare; ++i) {
        std::memcpy(out + (c + i) * column_bytes + b, &square[i], kSquare);
      }
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
    WriteColumns(lines, out, column_bytes);
  }
}

}  // namespace bittern::quant
