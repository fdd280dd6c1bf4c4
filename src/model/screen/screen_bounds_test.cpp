// SPDX-License-Identifier: Apache-2.0
// Vectors as integers: what the bounds say was lost is at least what was lost.
#include "model/screen/screen_bounds.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace bittern::model {
namespace {

struct Integers {
  std::vector<std::int8_t> high, low;
  QuantizedVector v;
};

Integers Wide(const std::vector<float>& x) {
  Integers q{std::vector<std::int8_t>(x.size()), std::vector<std::int8_t>(x.size()), {}};
  q.v = Quantize(x.data(), x.size(), q.high.data(), q.low.data());
  return q;
}

Integers Narrow(const std::vector<float>& x) {
  Integers q{std::vector<std::int8_t>(x.size()), std::vector<std::int8_t>(x.size()), {}};
  q.v = QuantizeNarrow(x.data(), x.size(), q.high.data());
  return q;
}

void CheckBounds(const std::vector<float>& x, const Integers& q) {
  double size = 0, rest = 0;
  int high_sum = 0, low_sum = 0, low_size = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double value =
        static_cast<double>(q.v.high_step) * q.high[i] + static_cast<double>(q.v.step) * q.low[i];
    size += value * value;
    rest += (x[i] - value) * (x[i] - value);
    high_sum += q.high[i];
    low_sum += q.low[i];
    low_size += std::abs(q.low[i]);
  }
  EXPECT_TRUE(q.v.finite);
  EXPECT_GE(q.v.size, std::sqrt(size));
  EXPECT_GE(q.v.rest_size, std::sqrt(rest));
  EXPECT_EQ(q.v.high_sum, high_sum);
  EXPECT_EQ(q.v.low_sum, low_sum);
  EXPECT_GE(q.v.low_size, static_cast<float>(low_size));
}

std::vector<float> Normal(std::size_t n, float deviation) {
  std::mt19937 rng(5);
  std::normal_distribution<float> normal(0, deviation);
  std::vector<float> x(n);
  for (float& value : x) value = normal(rng);
  return x;
}

TEST(ScreenBounds, CoverWhatIntegersLose) {
  for (const float deviation : {1.0f, 1e-20f, 1e-38f, 1e15f, 0.0f}) {
    for (const std::size_t n : {1u, 255u, 2560u}) {
      auto x = Normal(n, deviation);
      CheckBounds(x, Wide(x));
      CheckBounds(x, Narrow(x));
      x[n / 2] = 300 * deviation;
      CheckBounds(x, Wide(x));
      CheckBounds(x, Narrow(x));
    }
  }
}

TEST(ScreenBounds, EightBitsAreTightButForOutliers) {
  auto x = Normal(2560, 1);
  EXPECT_TRUE(IsTightEnough(Narrow(x).v, x.size()));
  x[7] = 40;  // one step is now a third of the deviation
  EXPECT_FALSE(IsTightEnough(Narrow(x).v, x.size()));
  EXPECT_TRUE(IsTightEnough(Wide(x).v, x.size()));
}

TEST(ScreenBounds, AreNoneOfWhatIsNotFinite) {
  auto x = Normal(64, 1);
  x[5] = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(Wide(x).v.finite);
  EXPECT_FALSE(Narrow(x).v.finite);
}

}  // namespace
}  // namespace bittern::model
