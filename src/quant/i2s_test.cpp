// SPDX-License-Identifier: Apache-2.0
#include "quant/i2s.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "quant/layouts/skip_layouts.hpp"
#include "quant/layouts/tile16.hpp"

namespace bittern::quant {
namespace {

std::vector<std::uint8_t> RandomCodes(std::size_t n, std::uint32_t seed) {
  std::mt19937 rng(seed);
  std::vector<std::uint8_t> codes(n);
  for (auto& code : codes) code = static_cast<std::uint8_t>(rng() % 3);
  return codes;
}

TEST(I2s, KnownBytes) {
  std::vector<std::byte> packed(32);
  for (auto [code, byte] : {std::pair{0, 0x00}, {1, 0x55}, {2, 0xaa}}) {
    PackI2s(std::vector<std::uint8_t>(128, static_cast<std::uint8_t>(code)), packed);
    for (std::byte b : packed) EXPECT_EQ(b, static_cast<std::byte>(byte));
  }
  std::vector<std::uint8_t> one(128, 0);
  one[32 + 5] = 2;  // second field of byte 5: bits 5-4
  PackI2s(one, packed);
  EXPECT_EQ(packed[5], std::byte{0x20});
}

TEST(I2s, PackAndUnpackAreInverse) {
  const auto codes = RandomCodes(128 * 20, 1);
  std::vector<std::byte> packed(codes.size() / 4);
  PackI2s(codes, packed);
  std::vector<std::uint8_t> back(codes.size());
  UnpackI2s(packed, back);
  EXPECT_EQ(back, codes);
  EXPECT_FALSE(FindInvalidI2sCode(packed).has_value());
}

TEST(I2s, FindsTheInvalidCodeAtEveryPlace) {
  for (std::size_t place = 0; place < 256; ++place) {
    auto codes = RandomCodes(256, 2);
    codes[place] = 3;
    std::vector<std::byte> packed(64);
    PackI2s(codes, packed);
    EXPECT_EQ(FindInvalidI2sCode(packed), place);
  }
}

TEST(I2s, ScaleIsTheFirstFloatOfTheTail) {
  std::vector<std::byte> tensor(64);
  const float scale = 1.218855f;
  std::memcpy(&tensor[32], &scale, 4);
  EXPECT_EQ(I2sScale(tensor), scale);
}

TEST(Tile16, EveryWeightIsWhereTheHeaderSays) {
  for (std::size_t rows : {1u, 5u, 16u}) {
    const std::size_t blocks = 3, cols = blocks * 128;
    const auto codes = RandomCodes(rows * cols, 3);
    std::vector<std::byte> packed(codes.size() / 4);
    PackI2s(codes, packed);
    std::vector<std::uint8_t> tile(TileBytes(cols), 0xff);
    RepackI2sTile(packed.data(), rows, blocks, tile.data());
    for (std::size_t r = 0; r < kTileRows; ++r) {
      for (std::size_t c = 0; c < cols; ++c) {
        EXPECT_EQ(CodeInTile(tile.data(), r, c), r < rows ? codes[r * cols + c] : 1u);
      }
    }
  }
}

TEST(Columns, EveryWeightIsWhereTheHeaderSays) {
  for (const std::size_t rows : {1u, 63u, 130u, 256u}) {
    constexpr std::size_t kBlocks = 2, kCols = kBlocks * 128;
    constexpr std::size_t kColumnBytes = kPanelLineBytes + 32;  // another panel's begin
    const auto codes = RandomCodes(rows * kCols, 4);
    std::vector<std::byte> packed(codes.size() / 4);
    PackI2s(codes, packed);
    std::vector<std::uint8_t> panel(kCols * kColumnBytes, 0xee);
    PackPanel(reinterpret_cast<const std::uint8_t*>(packed.data()), rows, kBlocks, panel.data(),
              kColumnBytes);
    for (std::size_t c = 0; c < kCols; ++c) {
      const std::uint8_t* line = panel.data() + c * kColumnBytes;
      for (std::size_t r = 0; r < kPanelRows; ++r) {
        const unsigned code = line[r % kPanelLineBytes] >> (2 * (r / kPanelLineBytes)) & 3;
        ASSERT_EQ(code, r < rows ? codes[r * kCols + c] : 1u) << rows << " " << r << " " << c;
      }
      for (std::size_t b = kPanelLineBytes; b < kColumnBytes; ++b) ASSERT_EQ(line[b], 0xee);
    }
  }
}

}  // namespace
}  // namespace bittern::quant
