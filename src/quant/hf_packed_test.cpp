// SPDX-License-Identifier: Apache-2.0
// The layout against an example of its makers, and against itself for row counts of every rest.
#include "quant/hf_packed.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace bittern::quant {
namespace {

using ::testing::HasSubstr;

// From transformers' integrations/bitnet.py, unpack_weights: [[0xA1,0x18],[0x90,0x0A]].
TEST(HfPacked, TheMakersExample) {
  const std::byte packed[] = {std::byte{0xA1}, std::byte{0x18}, std::byte{0x90}, std::byte{0x0A}};
  const std::vector<std::uint8_t> expected = {1, 0, 0, 2, 0, 2, 0, 2, 2, 1, 1, 0, 2, 0, 2, 0};
  std::vector<std::uint8_t> codes(16);
  ASSERT_TRUE(UnpackHfRows({packed, 8, 2}, 0, 8, codes));
  EXPECT_EQ(codes, expected);
  std::vector<std::byte> again(4);
  PackHf(codes, 8, 2, again);
  EXPECT_TRUE(std::ranges::equal(again, packed));
}

TEST(HfPacked, AnyNumberOfRowsAndAnyPartOfThem) {
  std::mt19937 random(1);
  for (std::size_t rows = 1; rows <= 13; ++rows) {
    const std::size_t cols = 5;
    std::vector<std::uint8_t> codes(rows * cols);
    for (auto& code : codes) code = static_cast<std::uint8_t>(random() % 3);
    std::vector<std::byte> packed(HfPackedRows(rows) * cols);
    PackHf(codes, rows, cols, packed);
    for (std::size_t first = 0; first < rows; ++first) {
      const std::size_t count = rows - first;
      std::vector<std::uint8_t> part(count * cols);
      ASSERT_TRUE(UnpackHfRows({packed, rows, cols}, first, count, part));
      EXPECT_TRUE(std::equal(part.begin(), part.end(),
                             codes.begin() + static_cast<std::ptrdiff_t>(first * cols)));
    }
  }
}

TEST(HfPacked, RefusesCodeThreeByPlace) {
  std::vector<std::byte> packed(2 * 3);
  packed[1 * 3 + 2] = std::byte{3u << 4};  // field 2 of packed row 1: logical row 2 * 2 + 1
  std::vector<std::uint8_t> codes(8 * 3);
  const auto result = UnpackHfRows({packed, 8, 3}, 0, 8, codes);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kCorruptFile);
  EXPECT_THAT(result.error().message, HasSubstr("code 3 at row 5, column 2"));
  // With 5 rows, the field belongs to no row.
  EXPECT_TRUE(UnpackHfRows({packed, 5, 3}, 0, 5, codes));
}

}  // namespace
}  // namespace bittern::quant
