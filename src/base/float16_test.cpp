// SPDX-License-Identifier: Apache-2.0
#include "base/float16.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

namespace bittern {
namespace {

TEST(Float16, EveryHalfSurvivesTheRoundTrip) {
  for (std::uint32_t h = 0; h < 65536; ++h) {
    const auto half = static_cast<std::uint16_t>(h);
    const float value = HalfToFloat(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(HalfToFloat(FloatToHalf(value))));
    } else {
      EXPECT_EQ(FloatToHalf(value), half);
    }
  }
}

TEST(Float16, RoundsToNearestEvenBetweenNeighbours) {
  // For every pair of neighbouring finite halves: the midpoint goes to the even one, a float
  // just beside the midpoint goes to the nearer one.
  for (std::uint16_t h = 0; h < 0x7bff; ++h) {
    const float low = HalfToFloat(h), high = HalfToFloat(static_cast<std::uint16_t>(h + 1));
    const float middle = (low + high) / 2;  // exact
    EXPECT_EQ(FloatToHalf(middle), h % 2 ? h + 1 : h);
    EXPECT_EQ(FloatToHalf(std::nextafterf(middle, 0)), h);
    EXPECT_EQ(FloatToHalf(std::nextafterf(middle, high)), h + 1);
    EXPECT_EQ(FloatToHalf(-middle), 0x8000 | (h % 2 ? h + 1 : h));
  }
}

TEST(Float16, LimitsOverflowAndKnownValues) {
  EXPECT_EQ(FloatToHalf(65504.0f), 0x7bff);
  EXPECT_EQ(FloatToHalf(65519.0f), 0x7bff);
  EXPECT_EQ(FloatToHalf(65520.0f), 0x7c00);  // rounds to 2^16: infinity
  EXPECT_EQ(FloatToHalf(1e30f), 0x7c00);
  EXPECT_EQ(FloatToHalf(-INFINITY), 0xfc00);
  EXPECT_EQ(FloatToHalf(1.0f), 0x3c00);
  EXPECT_EQ(HalfToFloat(0x0001), 0x1p-24f);
  EXPECT_EQ(HalfToFloat(0x3555), 0x1.554p-2f);
}

TEST(Bfloat16, RoundTripAndRounding) {
  for (std::uint32_t b = 0; b < 65536; ++b) {
    const auto bfloat = static_cast<std::uint16_t>(b);
    const float value = BfloatToFloat(bfloat);
    if (!std::isnan(value)) {
      EXPECT_EQ(FloatToBfloat(value), bfloat);
    }
  }
  EXPECT_EQ(FloatToBfloat(0x1.01p0f), 0x3f80);  // tie to even
  EXPECT_EQ(FloatToBfloat(0x1.03p0f), 0x3f82);  // tie to even
  EXPECT_EQ(FloatToBfloat(1.218855f), 0x3f9c);  // 1.21875
  EXPECT_TRUE(std::isnan(BfloatToFloat(FloatToBfloat(NAN))));
}

}  // namespace
}  // namespace bittern
