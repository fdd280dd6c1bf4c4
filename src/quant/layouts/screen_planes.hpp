// SPDX-License-Identifier: Apache-2.0
// The coarse copy of the output head (model/screened_head.hpp) in planes of 4, 1 and 2
// bits, so that a scan reads the first bits of every row and the next ones only of rows still in
// question. Not a file format: it is made at load. Rows are padded to a multiple of 512 columns
// (any codes: what they meet is zero).
//
// With u = code + 128 (0..255) for codes of -128..127:
//   nibbles  u >> 4, in tiles of 16 rows so that a vector lane is a row:
//            tile = [8 columns j][row r = 0..15][i = 0..3], one byte each;
//            bits 3-0: column 8 j + i, bits 7-4: column 8 j + 4 + i
//   bits     (u >> 3) & 1, in tiles of 16 rows too: tile = [32 columns j][row][i = 0..3], one byte
//            each; bit f: column 32 j + 4 f + i
//   pairs    (u >> 1) & 3, row by row: byte b of 64 in block k, bits 2f+1..2f: column
//            256 k + 64 f + b
// The last bit is not kept.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bittern::quant {

inline constexpr std::size_t kScreenBlock = 512;  ///< rows are padded to whole blocks of columns

[[nodiscard]] constexpr std::size_t ScreenCols(std::size_t cols) noexcept {
  return (cols + kScreenBlock - 1) / kScreenBlock * kScreenBlock;
}
/// Bytes of one tile of nibbles, of one tile of bits and of one row's pairs.
[[nodiscard]] constexpr std::size_t NibbleTileBytes(std::size_t padded_cols) noexcept {
  return padded_cols * 8;
}
[[nodiscard]] constexpr std::size_t BitTileBytes(std::size_t padded_cols) noexcept {
  return padded_cols * 2;
}
[[nodiscard]] constexpr std::size_t PairRowBytes(std::size_t padded_cols) noexcept {
  return padded_cols / 4;
}

/// codes: 16 rows of padded_cols.
void PackNibbles(const std::int8_t* codes, std::size_t padded_cols, std::uint8_t* tile) noexcept;
void PackBits(const std::int8_t* codes, std::size_t padded_cols, std::uint8_t* tile) noexcept;
/// codes: one row of padded_cols.
void PackPairs(const std::int8_t* codes, std::size_t padded_cols, std::uint8_t* pairs) noexcept;

}  // namespace bittern::quant
