// SPDX-License-Identifier: Apache-2.0
// Tile48: three weights in five bits. A layout for machines whose memory is slower than their
// arithmetic: it takes 5/6 of the bytes of Tile16 and about 5/3 of the operations. Not a file
// format; made at load.
//
// Three weights have 27 combinations: 13 pairs that are each other's negatives, and zero. A
// triple's index is five bits: 3-0 name the pair (0 to 13, kTriples), 4 says to negate. Its weights
// belong to rows r, 16 + r and 32 + r of a tile of 48 rows, in the same column: so they meet the
// same activation, and a vector lane is an output row, as in Tile16. For each block of 128 columns
// a tile has four units of 320 bytes, for 32 columns each; a unit has five lines of 64 bytes [row r
// = 0..15][i = 0..3], which hold eight groups g = 0..7 of columns 128 * block + 32 u + 4 g + i:
//
//   tile = [block][unit u = 0..3][line]
//   bits of a byte   7-5                          4-0
//   line 0           bits 2-0 of group 5          group 0
//   line 1           7: bit 4 of group 7
//                    6-5: bits 4-3 of group 5     group 1
//   line 2           bits 2-0 of group 6          group 2
//   line 3           7: bit 3 of group 7
//                    6-5: bits 4-3 of group 6     group 3
//   line 4           bits 2-0 of group 7          group 4
//
// A shuffle that ignores the upper bits of an index (vpermb) thus takes lines as they are, and the
// last three groups need two shifts and a merge, or a few more.
//
// Rows past the end of a matrix and columns past the end of a row hold weight 0.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "quant/layouts/tile16.hpp"

namespace bittern::quant {

inline constexpr std::size_t kTile48Rows = 48;
inline constexpr std::size_t kTile48UnitBytes = 320;
inline constexpr std::size_t kTile48BlockBytes = 4 * kTile48UnitBytes;

/// Set in the index of a triple that is the negative of its pair.
inline constexpr std::uint8_t kNegated = 0x10;

/// Pairs 0..13 as codes of their three weights: bits 1-0 of row r, 3-2 of 16 + r, 5-4 of 32 + r.
/// The negative of a triple t is kNegateFrom - t; pair 13 is weight 0 three times, its own
/// negative.
inline constexpr std::array<std::uint8_t, 16> kTriples = {0,  1,  2,  4,  5,  6,  8, 9,
                                                          10, 16, 17, 18, 20, 21, 0, 0};
inline constexpr std::uint8_t kNegateFrom = 0x2a;

[[nodiscard]] constexpr std::size_t Tiles48OfRows(std::size_t rows) noexcept {
  return (rows + kTile48Rows - 1) / kTile48Rows;
}
/// Bytes of one tile of `cols` columns.
[[nodiscard]] constexpr std::size_t Tile48Bytes(std::size_t cols) noexcept {
  return BlocksOfCols(cols) * kTile48BlockBytes;
}

/// Makes one tile from the codes (0..2, num_rows (1..48) rows of cols) of any format. tile:
/// Tile48Bytes(cols) bytes.
void PackTile48(const std::uint8_t* codes, std::size_t num_rows, std::size_t cols,
                std::uint8_t* tile) noexcept;

/// The same from up to 48 consecutive I2_S rows (quant/i2s.hpp), num_blocks * 32 bytes each, whose
/// codes are 0..2.
void RepackI2sTile48(const std::byte* i2s_rows, std::size_t num_rows, std::size_t num_blocks,
                     std::uint8_t* tile) noexcept;

/// Code (0..2) of one weight of a tile: the slow, obviously right way to read the layout.
[[nodiscard]] unsigned CodeInTile48(const std::uint8_t* tile, std::size_t row,
                                    std::size_t col) noexcept;

}  // namespace bittern::quant
