// SPDX-License-Identifier: Apache-2.0
// Codes of three rows become indices of triples, four columns of four rows at a time; then the
// lines of a unit are written.
#include "quant/layouts/tile48.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "quant/layouts/skip_layouts.hpp"
#include "quant/layouts/transpose.hpp"

namespace bittern::quant {
namespace {

constexpr std::size_t kBlockBytes = 32;  // bytes of a row's block of 128 columns
constexpr std::size_t kTile48Line = 64;
constexpr std::uint32_t kSixteenZeros = 0x55555555;  // sixteen times code 1

// A quarter of a line: four bytes of each of four rows.
constexpr std::size_t kQuarter = 16, kQuarterRows = 4;
typedef Bytes16 Quarter;

/// Sixteen bytes of each of four rows from `row` on: their words, row beside row.
inline std::array<Words4, 4> GatherWords(const std::byte* i2s_rows, std::size_t row,
                                         std::size_t num_rows, std::size_t row_bytes,
                                         std::size_t offset) noexcept {
  std::array<Words4, 4> words;
  for (std::size_t r = 0; r < kQuarterRows; ++r) {
    words[r] = row + r < num_rows
                   ? LoadVector<Words4>(i2s_rows + (row + r) * row_bytes + offset)
                   : Words4{kSixteenZeros, kSixteenZeros, kSixteenZeros, kSixteenZeros};
  }
  Transpose(&words);
  return words;
}

/// Indices of triples. Codes 0..2 of three weights make a number 0..26 in base three; what is above
/// 13 is the negative of 26 less that, and kTriples is in the order of the numbers. (Sums, since
/// SSE2 multiplies no bytes.)
inline Quarter IndicesOf(Quarter first, Quarter second, Quarter third) noexcept {
  const Quarter three = third + third + third;
  const Quarter number = first + (second + second + second) + (three + three + three);
  const auto negative = reinterpret_cast<Quarter>(number > 13);  // 255 or 0
  return (number & ~negative) | (((26 - number) | kNegated) & negative);
}

/// One block of four rows (and of those 16 and 32 further on), group by group.
struct Groups {
  Quarter rows[8][3];
};

/// Writes a quarter of a unit's lines. kShift: where its fields are in the bytes of I2_S.
template <int kShift>
void PackUnit(const Groups& groups, std::uint8_t* unit) noexcept {
  Quarter index[8];
  for (std::size_t group = 0; group < 8; ++group) {
    const Quarter* rows = groups.rows[group];
    index[group] = IndicesOf(rows[0] >> kShift & 3, rows[1] >> kShift & 3, rows[2] >> kShift & 3);
  }
  const Quarter lines[5] = {
      index[0] | index[5] << 5, index[1] | (index[5] & 0x18) << 2 | (index[7] & 0x10) << 3,
      index[2] | index[6] << 5, index[3] | (index[6] & 0x18) << 2 | (index[7] & 0x08) << 4,
      index[4] | index[7] << 5,
  };
  for (std::size_t n = 0; n < 5; ++n) std::memcpy(unit + n * kTile48Line, &lines[n], kQuarter);
}

/// Four rows of a block and those 16 and 32 further on, into its four units.
void PackRowsOfBlock(const std::byte* i2s_rows, std::size_t row, std::size_t num_rows,
                     std::size_t num_blocks, std::size_t block, std::uint8_t* out) noexcept {
  Groups groups;
  for (std::size_t half = 0; half < 2; ++half) {
    for (std::size_t i = 0; i < 3; ++i) {
      const auto words =
          GatherWords(i2s_rows, i * kTileRows + row, num_rows, num_blocks * kBlockBytes,
                      block * kBlockBytes + half * kQuarter);
      for (std::size_t w = 0; w < words.size(); ++w) {
        groups.rows[4 * half + w][i] = reinterpret_cast<Quarter>(words[w]);
      }
    }
  }
  PackUnit<6>(groups, out);
  PackUnit<4>(groups, out + kTile48UnitBytes);
  PackUnit<2>(groups, out + 2 * kTile48UnitBytes);
  PackUnit<0>(groups, out + 3 * kTile48UnitBytes);
}

}  // namespace

void RepackI2sTile48(const std::byte* i2s_rows, std::size_t num_rows, std::size_t num_blocks,
                     std::uint8_t* tile) noexcept {
  for (std::size_t b = 0; b < num_blocks; ++b) {
    for (std::size_t row = 0; row < kTileRows; row += kQuarterRows) {
      PackRowsOfBlock(i2s_rows, row, num_rows, num_blocks, b,
                      tile + b * kTile48BlockBytes + 4 * row);
    }
  }
}

void PackTile48(const std::uint8_t* codes, std::size_t num_rows, std::size_t cols,
                std::uint8_t* tile) noexcept {
  const std::size_t row_bytes = BlocksOfCols(cols) * kBlockBytes;
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
  const std::uint8_t* bytes = tile + col / 32 * kTile48UnitBytes + 4 * r + i;
  const auto bits = [&](std::size_t line, unsigned low, unsigned count) {
    return static_cast<unsigned>(bytes[line * kTile48Line]) >> low & ((1u << count) - 1);
  };
  unsigned index = 0;
  if (group < 5) index = bits(group, 0, 5);
  if (group == 5) index = bits(1, 5, 2) << 3 | bits(0, 5, 3);
  if (group == 6) index = bits(3, 5, 2) << 3 | bits(2, 5, 3);
  if (group == 7) index = bits(1, 7, 1) << 4 | bits(3, 7, 1) << 3 | bits(4, 5, 3);
  const unsigned pair = kTriples[index & 15];
  const unsigned triple = (index & kNegated) != 0 ? kNegateFrom - pair : pair;
  return triple >> (row / kTileRows * 2) & 3;
}

}  // namespace bittern::quant
