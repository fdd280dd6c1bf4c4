// SPDX-License-Identifier: Apache-2.0
#include "base/portable_math.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace bittern {
namespace {

TEST(PortableMath, ExpAgreesWithLibmToLastBits) {
  std::mt19937_64 rng(1);
  std::uniform_real_distribution<double> range(-700, 700);
  for (int i = 0; i < 100000; ++i) {
    const double x = i % 2 ? range(rng) : range(rng) / 700;
    EXPECT_NEAR(Exp(x) / std::exp(x), 1.0, 2e-15) << x;
  }
  EXPECT_EQ(Exp(0), 1.0);
  EXPECT_EQ(Exp(-1000), 0.0);
  EXPECT_TRUE(std::isinf(Exp(1000)));
  EXPECT_TRUE(std::isnan(Exp(NAN)));
  EXPECT_GT(Exp(-740), 0.0);  // subnormal
}

TEST(PortableMath, LogAgreesWithLibm) {
  std::mt19937_64 rng(2);
  std::uniform_real_distribution<double> exponent(-300, 300);
  for (int i = 0; i < 100000; ++i) {
    const double x = std::pow(10.0, exponent(rng));
    EXPECT_NEAR(Log(x), std::log(x), 2e-15 * std::fmax(1, std::fabs(std::log(x)))) << x;
  }
  EXPECT_EQ(Log(1), 0.0);
}

TEST(PortableMath, SinCosAgreesWithLibmForEveryRopeAngle) {
  std::mt19937_64 rng(3);
  std::uniform_real_distribution<double> range(-1048576, 1048576);
  for (int i = 0; i < 200000; ++i) {
    const double x = i % 2 ? range(rng) : range(rng) / 100000;
    const auto [s, c] = SinCos(x);
    EXPECT_NEAR(s, std::sin(x), 2e-15) << x;
    EXPECT_NEAR(c, std::cos(x), 2e-15) << x;
  }
}

TEST(PortableMath, BitsAreTheSameOnEveryMachine) {
  // Recorded values: a change here changes every logit, so it must be deliberate.
  EXPECT_EQ(Exp(1), 0x1.5bf0a8b14576ap+1);
  EXPECT_EQ(Log(10), 0x1.26bb1bbb55516p+1);
  EXPECT_EQ(SinCos(100).sin, -0x1.03425b78c4db8p-1);
  EXPECT_EQ(SinCos(100).cos, 0x1.b981dbf665fep-1);
}

}  // namespace
}  // namespace bittern
