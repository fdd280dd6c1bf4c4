// SPDX-License-Identifier: Apache-2.0
// Activations as int8 and as two digits of 16 bits, by every float32 kernel that this CPU can run.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/float32/float32_for_test.hpp"

namespace bittern::kernels {
namespace {

class QuantizeTest : public FloatKernelTest {};

TEST_P(QuantizeTest, TheSameBits) {
  for (bool wild : {false, true}) {
    for (std::size_t n : kLengths) {
      Guarded<float> x(RandomFloats(n, 3, wild));
      GuardedBuffer<std::int8_t> got(n), want(n);
      std::int32_t got_sum = 0, want_sum = 0;
      const float got_scale = ops().quantize_absmax(x.data(), n, got.data(), &got_sum);
      const float want_scale = Scalar().quantize_absmax(x.data(), n, want.data(), &want_sum);
      EXPECT_EQ(got_scale, want_scale);
      EXPECT_EQ(got_sum, want_sum);
      ASSERT_TRUE(std::equal(got.begin(), got.end(), want.begin())) << n;
    }
  }
}

TEST_P(QuantizeTest, DigitsHaveTheSameBits) {
  for (bool wild : {false, true}) {
    for (std::size_t n : kLengths) {
      Guarded<float> x(RandomFloats(n, 3, wild));
      const std::int32_t most = n % 2 == 0 ? kMost16Bits : kMost10Bits;
      GuardedBuffer<std::int8_t> got_high(n), got_low(n), high(n), low(n);
      std::int32_t got_sum = 0, sum = 0;
      const float got =
          ops().quantize_digits(x.data(), n, most, got_high.data(), got_low.data(), &got_sum);
      const float want = Scalar().quantize_digits(x.data(), n, most, high.data(), low.data(), &sum);
      EXPECT_EQ(got, want);
      EXPECT_EQ(got_sum, sum);
      ASSERT_TRUE(std::equal(got_high.begin(), got_high.end(), high.begin())) << n;
      ASSERT_TRUE(std::equal(got_low.begin(), got_low.end(), low.begin())) << n;
    }
  }
}

TEST_P(QuantizeTest, DigitsAreThoseOfTheNearestInteger) {
  // All integers that 16 bits of digits hold, and ties, which go to even.
  constexpr int kMost = 32512;
  std::vector<float> x(2 * kMost + 1);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) - kMost;
  x.insert(x.end(), {0.5f, 1.5f, -0.5f, -1.5f, 127.5f, 128.5f, 32510.5f, -32511.5f});
  std::vector<std::int8_t> high(x.size()), low(x.size());
  std::int32_t sum = 0, want_sum = 0;
  EXPECT_EQ(ops().quantize_digits(x.data(), x.size(), kMost, high.data(), low.data(), &sum), 1.0f);
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(255 * high[i] + low[i], static_cast<int>(std::nearbyint(x[i]))) << x[i];
    ASSERT_GE(high[i], -127);
    ASSERT_GE(low[i], -127);
    want_sum += 255 * high[i] + low[i];
  }
  EXPECT_EQ(sum, want_sum);
}

TEST_P(QuantizeTest, IsTheWrittenFormula) {
  // Ties go to even, the largest becomes 127, an all-zero row stays zero with s = 127 / 1e-5.
  std::vector<float> x = {127, 0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -2.5f, 126.5f, -126.5f, 3.49f};
  std::vector<std::int8_t> q(x.size());
  std::int32_t sum = 0;
  EXPECT_EQ(ops().quantize_absmax(x.data(), x.size(), q.data(), &sum), 1.0f);
  EXPECT_EQ(q, (std::vector<std::int8_t>{127, 0, 2, 2, 0, -2, -2, 126, -126, 3}));
  EXPECT_EQ(sum, 130);
  std::vector<float> zeros(40, 0.0f);
  std::vector<std::int8_t> none(40, 1);
  EXPECT_EQ(ops().quantize_absmax(zeros.data(), 40, none.data(), &sum), 127.0f / 1e-5f);
  EXPECT_EQ(sum, 0);
  EXPECT_EQ(none, std::vector<std::int8_t>(40, 0));
}

INSTANTIATE_TEST_SUITE_P(All, QuantizeTest, testing::ValuesIn(FloatKernels()), FloatKernelName);

}  // namespace
}  // namespace bittern::kernels
