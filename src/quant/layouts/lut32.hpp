// SPDX-License-Identifier: Apache-2.0
// Lut32: the layouts of the lookup-table kernels, made at load like Tile16 (tile16.hpp). They are
// TL1's and TL2's codes (tl1.cpp, tl2.hpp) in an order that is read front to back, with no tiling
// to be told: 32 rows, then steps of columns.
//
//   tl1  a step is  4 columns, 32 bytes: the pair of columns 0, 1 in the high nibble, 2, 3 in the
//        low one; a nibble is 3 * code + code
//   tl2  a step is 24 columns, 160 bytes: four times 32 bytes with two triples each, the first in
//        the high nibble; then 16 words of signs. A triple s = 9 a + 3 b + c is |s|, and bit
//        15 - (2 t + row / 16) of word row % 16 is set where triple t of the step is negative
//
// Byte p of 32 belongs to row p, but rows 8..15 and 16..23 change places: then the bytes that one
// vector unpack leaves side by side are rows 0..15, and 16..31. Rows and columns past the end
// hold weight 0.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bittern::quant {

enum class LutKind : std::uint8_t { kTl1, kTl2 };

inline constexpr std::size_t kLutRows = 32;

[[nodiscard]] constexpr std::size_t LutStepCols(LutKind kind) noexcept {
  return kind == LutKind::kTl1 ? 4 : 24;
}
[[nodiscard]] constexpr std::size_t LutStepBytes(LutKind kind) noexcept {
  return kind == LutKind::kTl1 ? 32 : 160;
}
[[nodiscard]] constexpr std::size_t LutSteps(LutKind kind, std::size_t cols) noexcept {
  return (cols + LutStepCols(kind) - 1) / LutStepCols(kind);
}
[[nodiscard]] constexpr std::size_t LutTileBytes(LutKind kind, std::size_t cols) noexcept {
  return LutSteps(kind, cols) * LutStepBytes(kind);
}
[[nodiscard]] constexpr std::size_t LutTilesOfRows(std::size_t rows) noexcept {
  return (rows + kLutRows - 1) / kLutRows;
}

/// Makes one tile from the codes (0..2) of num_rows (1..32) rows. tile: LutTileBytes bytes.
void PackLutTile(LutKind kind, const std::uint8_t* codes, std::size_t num_rows, std::size_t cols,
                 std::uint8_t* tile) noexcept;

}  // namespace bittern::quant
