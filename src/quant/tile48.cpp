// SPDX-License-Identifier: Apache-2.0
#include "quant/tile48.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "quant/skip_layouts.hpp"

namespace bittern::quant {
namespace {

constexpr std::size_t kI2sBlock = 32;  // bytes of a row's block of 128 columns
constexpr std::size_t kLine = 64;
constexpr std::uint32_t kZeroWeights = 0x55555555;  // sixteen times code 1

// A quarter of a line, four rows, in the notation of gcc and clang for vectors.
constexpr std::size_t kQuarter = 16, kQuarterRows = 4;
typedef std::uint8_t Quarter __attribute__((vector_size(kQuarter)));

/// Four bytes of each of four rows from `row` on, row beside row.
inline Quarter GatherWords(const std::byte* i2s_rows, std::size_t row, std::size_t num_rows,
                           std::size_t row_bytes, std::size_t offset) noexcept {
  std::uint32_t words[kQuarterRows];
  for (std::size_t r = 0; r < kQuarterRows; ++r) {
    words[r] = kZeroWeights;
    if (row + r >= num_rows) continue;
    std::memcpy(&words[r], i2s_rows + (row + r) * row_bytes + offset, sizeof(words[r]));
  }
  Quarter quarter;
  std::memcpy(&quarter, words, sizeof(quarter));
  return quarter;
}

/// Adds a group of four columns of some rows. line: their quarter of the line of pairs; signs: of
/// the line of signs. Codes 0..2 of three weights make a number 0..26 in base three; what is above
/// 13 is the negative of 26 less that, and kTriples is in the order of the numbers.
inline void AddGroup(Quarter first, Quarter second, Quarter third, std::size_t group,
                     std::uint8_t* line, std::uint8_t* signs) noexcept {
  const Quarter number = first + 3 * second + 9 * third;
  const auto negative = reinterpret_cast<Quarter>(number > 13);  // 255 or 0
  const Quarter pair = (number & ~negative) | ((26 - number) & negative);
  Quarter old_pairs, old_signs;
  std::memcpy(&old_pairs, line, kQuarter);
  std::memcpy(&old_signs, signs, kQuarter);
  old_pairs |= group % 2 == 0 ? pair : pair << 4;
  old_signs |= negative & static_cast<std::uint8_t>(1 << group);
  std::memcpy(line, &old_pairs, kQuarter);
  std::memcpy(signs, &old_signs, kQuarter);
}

/// Group `group` of a block of the rows 16 i + row..16 i + row + 3, into its four units.
void PackGroup(const std::byte* i2s_rows, std::size_t row, std::size_t num_rows,
               std::size_t num_blocks, std::size_t block, std::size_t group,
               std::uint8_t* out) noexcept {
  Quarter rows[3];
  for (std::size_t i = 0; i < 3; ++i) {
    rows[i] = GatherWords(i2s_rows, i * kTileRows + row, num_rows, num_blocks * kI2sBlock,
                          block * kI2sBlock + 4 * group);
  }
  for (std::size_t unit = 0; unit < 4; ++unit, out += kTile48UnitBytes) {
    const auto shift = static_cast<std::uint8_t>(6 - 2 * unit);
    AddGroup(rows[0] >> shift & 3, rows[1] >> shift & 3, rows[2] >> shift & 3, group,
             out + group / 2 * kLine, out + 4 * kLine);
  }
}

}  // namespace

void RepackI2sTile48(const std::byte* i2s_rows, std::size_t num_rows, std::size_t num_blocks,
                     std::uint8_t* tile) noexcept {
  std::memset(tile, 0, num_blocks * kTile48BlockBytes);
  for (std::size_t b = 0; b < num_blocks; ++b) {
    for (std::size_t row = 0; row < kTileRows; row += kQuarterRows) {
      for (std::size_t group = 0; group < 8; ++group) {
        PackGroup(i2s_rows, row, num_rows, num_blocks, b, group,
                  tile + b * kTile48BlockBytes + 4 * row);
      }
    }
  }
}

void PackTile48(const std::uint8_t* codes, std::size_t num_rows, std::size_t cols,
                std::uint8_t* tile) noexcept {
  const std::size_t row_bytes = BlocksOfCols(cols) * kI2sBlock;
  std::vector<std::uint8_t> rows(kTile48Rows * row_bytes);
  for (std::size_t r = 0; r < num_rows; r += kTileRows) {
    PackRows(codes + r * cols, std::min(kTileRows, num_rows - r), cols,
             rows.data() + r * row_bytes);
  }
  RepackI2sTile48(reinterpret_cast<const std::byte*>(rows.data()), num_rows, BlocksOfCols(cols),
                  tile);
}

unsigned CodeInTile48(const std::uint8_t* tile, std::size_t row, std::size_t col) noexcept {
  const std::size_t r = row % kTileRows, group = col % 32 / 4, i = col % 4;
  const std::uint8_t* unit = tile + col / 32 * kTile48UnitBytes + 4 * r + i;
  const unsigned pair = unit[group / 2 * kLine] >> (group % 2 * 4) & 15;
  const bool negative = (unit[4 * kLine] >> group & 1) != 0;
  const unsigned triple = negative ? kNegateFrom - kTriples[pair] : kTriples[pair];
  return triple >> (row / kTileRows * 2) & 3;
}

}  // namespace bittern::quant
