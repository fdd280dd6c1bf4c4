// SPDX-License-Identifier: Apache-2.0
#include "quant/tl_tiling.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "quant/ternary_codec.hpp"

namespace bittern::quant {
namespace {

/// A matrix whose rows have densities of their own, as trained ones do.
std::vector<std::uint8_t> TrainedLooking(std::size_t rows, std::size_t cols) {
  std::mt19937 rng(3);
  std::vector<std::uint8_t> codes;
  for (std::size_t r = 0; r < rows; ++r) {
    const auto zeros = 20 + rng() % 60;
    for (std::size_t c = 0; c < cols; ++c) {
      codes.push_back(static_cast<std::uint8_t>(rng() % 100 < zeros ? 1 : rng() % 2 * 2));
    }
  }
  return codes;
}

std::vector<std::byte> Packed(const TernaryCodec& codec, const std::vector<std::uint8_t>& codes,
                              std::size_t rows, std::size_t cols, const TlTiling& tiling) {
  std::vector<std::byte> bytes(codec.bytes(rows, cols, tiling));
  const std::vector<float> scales(rows, 1.5f);
  codec.pack({codes, scales, rows, cols, tiling}, bytes.data());
  return bytes;
}

TEST(TlTiling, DefaultsFitTheShapesOfPublishedModels) {
  for (const auto format : {WeightFormat::kTL1, WeightFormat::kTL2}) {
    for (const auto& [rows, cols] : std::vector<std::pair<std::size_t, std::size_t>>{{640, 2560},
                                                                                     {2560, 2560},
                                                                                     {6912, 2560},
                                                                                     {2560, 6912},
                                                                                     {3200, 3200},
                                                                                     {3200, 8640},
                                                                                     {8640, 3200},
                                                                                     {4096, 4096},
                                                                                     {1024, 4096},
                                                                                     {14336, 4096},
                                                                                     {4096, 14336},
                                                                                     {256, 256},
                                                                                     {768, 256},
                                                                                     {256, 768}}) {
      const auto tiling = DefaultTiling(format, rows, cols);
      ASSERT_TRUE(tiling) << rows << " x " << cols;
      EXPECT_TRUE(DefaultCodec(format)->check(rows, cols, *tiling)) << rows << " x " << cols;
    }
  }
  EXPECT_FALSE(DefaultTiling(WeightFormat::kTL2, 100, 2560));
}

TEST(TlTiling, IsFoundWhereRowsDiffer) {
  constexpr std::size_t kRows = 640, kCols = 2560;
  const auto codes = TrainedLooking(kRows, kCols);
  for (const auto& [format, tiling] :
       std::vector<std::pair<WeightFormat, TlTiling>>{{WeightFormat::kTL2, {160, 96, 32}},
                                                      {WeightFormat::kTL2, {320, 192, 32}},
                                                      {WeightFormat::kTL2, {128, 96, 32}},
                                                      {WeightFormat::kTL1, {160, 128, 32}},
                                                      {WeightFormat::kTL1, {320, 64, 64}}}) {
    const TernaryCodec& codec = *DefaultCodec(format);
    const auto bytes = Packed(codec, codes, kRows, kCols, tiling);
    const auto found = FindTiling(format, bytes, kRows, kCols);
    ASSERT_TRUE(found) << tiling.bm_rows;
    std::vector<std::uint8_t> read(codes.size());
    std::vector<float> scales(kRows);
    codec.unpack({bytes, kRows, kCols, *found}, 0, kRows, read.data(), scales.data());
    EXPECT_EQ(read, codes) << tiling.bm_rows << " " << tiling.bk_cols;
  }
}

TEST(TlTiling, IsNotInventedWhereRowsAreAlike) {
  constexpr std::size_t kRows = 256, kCols = 768;
  std::mt19937 rng(3);
  std::vector<std::uint8_t> codes(kRows * kCols);
  for (auto& code : codes) code = static_cast<std::uint8_t>(rng() % 3);
  const auto bytes = Packed(*DefaultCodec(WeightFormat::kTL2), codes, kRows, kCols, {128, 96, 32});
  EXPECT_FALSE(FindTiling(WeightFormat::kTL2, bytes, kRows, kCols));
}

}  // namespace
}  // namespace bittern::quant
