// SPDX-License-Identifier: Apache-2.0
// Codes and scale by hand, at the ties, for hostile values, and beyond one chunk of a row.
// tests of real models are in formats (hf_folder_test.cpp), which can read them.
#include "quant/blocks/absmean.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/float16.hpp"

namespace bittern::quant {
namespace {

std::vector<std::byte> BytesOf(const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * 4);
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

TEST(Absmean, CodesAndScale) {
  const auto bytes = BytesOf({1, -1, 0, 2, 0.25f, -0.25f, 3, -0.5f});
  std::vector<std::uint8_t> codes(8);
  const auto scale = QuantizeAbsmean(WeightFormat::kF32, bytes, 2, 4, codes);
  ASSERT_TRUE(scale);
  EXPECT_EQ(scale->scale, 1.0f);
  EXPECT_EQ(scale->reciprocal, 1.0f);
  // 0.5 of the scale is a tie, which goes to even: to 0.
  EXPECT_EQ(codes, (std::vector<std::uint8_t>{2, 0, 1, 2, 1, 1, 2, 1}));
}

TEST(Absmean, JustBeyondTheTie) {
  const float above = std::nextafter(0.5f, 1.0f), below = std::nextafter(0.5f, 0.0f);
  std::vector<std::uint8_t> codes(6);
  AbsmeanCodes(WeightFormat::kF32, BytesOf({0.5f, above, below, -0.5f, -above, -below}), 1.0f,
               codes);
  EXPECT_EQ(codes, (std::vector<std::uint8_t>{1, 2, 1, 1, 0, 1}));
}

TEST(Absmean, AllZeroTakesTheFloor) {
  std::vector<std::uint8_t> codes(4);
  const auto scale = QuantizeAbsmean(WeightFormat::kF32, BytesOf({0, -0.0f, 0, 0}), 1, 4, codes);
  ASSERT_TRUE(scale);
  EXPECT_EQ(scale->scale, 1e-5f);
  EXPECT_EQ(codes, (std::vector<std::uint8_t>(4, 1)));
}

TEST(Absmean, RefusesWeightsThatAreNotFinite) {
  std::vector<std::uint8_t> codes(2);
  for (const float bad :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    const auto scale = QuantizeAbsmean(WeightFormat::kF32, BytesOf({1, bad}), 1, 2, codes);
    ASSERT_FALSE(scale);
    EXPECT_EQ(scale.error().code, ErrorCode::kCorruptFile);
  }
}

TEST(ThresholdCodes, ARowKeepsWhatIsAboveAShareOfItsMean) {
  // The mean is 1, so 0.7 goes and 0.75 stays; the scale is the mean of 0.75, 2 and 1.25.
  std::vector<std::uint8_t> codes(5);
  const float scale =
      ThresholdCodes(WeightFormat::kF32, BytesOf({0.7f, -0.75f, 2, 0.3f, -1.25f}), codes);
  EXPECT_EQ(codes, (std::vector<std::uint8_t>{1, 0, 2, 1, 0}));
  EXPECT_EQ(scale, BfloatToFloat(FloatToBfloat(4.0f / 3)));
  EXPECT_NE(scale, 4.0f / 3);
  // Ternary rows stay as they are.
  EXPECT_EQ(ThresholdCodes(WeightFormat::kF32, BytesOf({0, 0.5f, 0, -0.5f, 0}), codes), 0.5f);
  EXPECT_EQ(codes, (std::vector<std::uint8_t>{1, 2, 1, 0, 1}));
  EXPECT_EQ(ThresholdCodes(WeightFormat::kF32, BytesOf({0, 0, 0, 0, 0}), codes), 0);
  const float bad = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(
      std::isfinite(ThresholdCodes(WeightFormat::kF32, BytesOf({bad, 0, 0, 0, 0}), codes)));
}

TEST(Absmean, RowsLongerThanAChunkInBfloat16) {
  const std::size_t rows = 3, cols = 2500;
  std::vector<std::uint16_t> values(rows * cols);
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = FloatToBfloat(std::sin(static_cast<float>(i)));
    sum += std::fabs(static_cast<double>(BfloatToFloat(values[i])));
  }
  std::vector<std::byte> bytes(values.size() * 2);
  std::memcpy(bytes.data(), values.data(), bytes.size());
  std::vector<std::uint8_t> codes(values.size());
  const auto scale = QuantizeAbsmean(WeightFormat::kBF16, bytes, rows, cols, codes);
  ASSERT_TRUE(scale);
  EXPECT_NEAR(scale->scale, sum / static_cast<double>(values.size()), 1e-7);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float scaled = BfloatToFloat(values[i]) * scale->reciprocal;
    const auto expected = std::nearbyint(std::fmin(1.0f, std::fmax(-1.0f, scaled)));
    ASSERT_EQ(codes[i], 1 + static_cast<int>(expected)) << i;
  }
}

}  // namespace
}  // namespace bittern::quant
