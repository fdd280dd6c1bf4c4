// SPDX-License-Identifier: Apache-2.0
// Tile16: the layout the ternary kernels compute from. Not a file format: it is made at load.
//
// Sixteen rows lie side by side, so that a vector lane is an output row and no sum is ever taken
// across lanes. A tile holds 16 rows; for each block of 128 columns it has eight steps of 64
// bytes; in step d, bytes 4r..4r+3 are the bytes 4d..4d+3 of row r's I2_S block (i2s.hpp):
//
//   tile = [block][step d = 0..7][row r = 0..15][i = 0..3]     one byte each
//   bits 7-6 of that byte: column 128 * block      + 4d + i
//   bits 5-4:              column 128 * block + 32 + 4d + i
//   bits 3-2:              column 128 * block + 64 + 4d + i
//   bits 1-0:              column 128 * block + 96 + 4d + i
//
// So the repack from I2_S moves whole 32-bit words, and one 64-byte step against four words of
// activations is 256 multiply-adds. Rows past the end of a matrix and columns past the end of a
// row hold code 1 (weight 0).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace bittern::quant {

inline constexpr std::size_t kTileRows = 16;
inline constexpr std::size_t kTileBlock = 128;  ///< columns of a block
inline constexpr std::size_t kTileBlockBytes = kTileRows * kTileBlock / 4;

[[nodiscard]] constexpr std::size_t TilesOfRows(std::size_t rows) noexcept {
  return (rows + kTileRows - 1) / kTileRows;
}
[[nodiscard]] constexpr std::size_t BlocksOfCols(std::size_t cols) noexcept {
  return (cols + kTileBlock - 1) / kTileBlock;
}
/// Bytes of one tile of `cols` columns.
[[nodiscard]] constexpr std::size_t TileBytes(std::size_t cols) noexcept {
  return BlocksOfCols(cols) * kTileBlockBytes;
}

/// Makes one tile from up to 16 consecutive I2_S rows. i2s_rows: num_rows (1..16) rows of
/// num_blocks * 32 bytes; tile: num_blocks * 512 bytes.
void RepackI2sTile(const std::byte* i2s_rows, std::size_t num_rows, std::size_t num_blocks,
                   std::uint8_t* tile) noexcept;

/// Makes one tile from the codes (0..3, num_rows (1..16) rows of cols) of any format. tile:
/// TileBytes(cols) bytes.
void PackTile(const std::uint8_t* codes, std::size_t num_rows, std::size_t cols,
              std::uint8_t* tile) noexcept;

/// Code (0..3) of one weight of a tile: the slow, obviously right way to read the layout.
[[nodiscard]] unsigned CodeInTile(const std::uint8_t* tile, std::size_t row,
                                  std::size_t col) noexcept;

}  // namespace bittern::quant
