// SPDX-License-Identifier: Apache-2.0
#include "model/load/rope_frequencies.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace bittern::model {
namespace {

constexpr RopeScaling kLlama31{RopeScaling::Kind::kLlama3, 8, 1, 4, 8192};

TEST(RopeFrequencies, LinearDivides) {
  EXPECT_EQ(StretchedFrequency(0.5, {}), 0.5);
  EXPECT_EQ(StretchedFrequency(0.5, {RopeScaling::Kind::kLinear, 4, 0, 0, 0}), 0.125);
}

// The factors of Llama 3.1's own rope_freqs tensor (theta 500000, head size 128): 1 up to pair 28,
// 8 from pair 35 on, and between them what the formula of the model card gives.
TEST(RopeFrequencies, Llama3LeavesFastWavesAndDividesSlowOnes) {
  const auto divisor = [](int i) {
    const double plain = std::pow(500000.0, -2.0 * i / 128);
    return plain / StretchedFrequency(plain, kLlama31);
  };
  for (int i = 0; i <= 28; ++i) EXPECT_DOUBLE_EQ(divisor(i), 1) << i;
  for (int i = 35; i < 64; ++i) EXPECT_DOUBLE_EQ(divisor(i), 8) << i;
  for (int i = 29; i < 35; ++i) {
    EXPECT_GT(divisor(i), divisor(i - 1)) << i;
    EXPECT_LE(divisor(i), 8) << i;
  }
}

TEST(RopeFrequencies, Llama3IsContinuousAtItsBorders) {
  for (const double turns : {1.0, 4.0}) {
    const double border = turns * 2 * std::numbers::pi / 8192;
    EXPECT_NEAR(StretchedFrequency(border * 0.999999, kLlama31),
                StretchedFrequency(border * 1.000001, kLlama31), border * 1e-5);
  }
}

}  // namespace
}  // namespace bittern::model
