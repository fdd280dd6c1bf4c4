// SPDX-License-Identifier: Apache-2.0
// The float kernels on numbers that are not finite, and on finite ones whose squares are not
// (docs/design/0007-not-finite.md): the same on every instruction set, and nothing is hidden.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/float32/float32_for_test.hpp"

namespace bittern::kernels {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kMost = std::numeric_limits<float>::max();

class Float32Finite : public FloatKernelTest {};

/// Numbers of either sign around 1.
std::vector<float> SomeFloats(std::size_t n) {
  std::vector<float> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = (i % 2 == 0 ? 1.0f : -1.0f) * (0.5f + i % 7 * 0.25f);
  return x;
}

TEST_P(Float32Finite, QuantizeSeesOneBadValueAnywhere) {
  for (const std::size_t n : {1u, 15u, 16u, 17u, 48u, 100u}) {
    for (std::size_t at = 0; at < n; ++at) {
      for (const float bad : {kInf, -kInf, kNan, -kNan}) {
        std::vector<float> x = SomeFloats(n);
        x[at] = bad;
        std::vector<std::int8_t> q(n, 5);
        std::int32_t sum = 5;
        ASSERT_EQ(ops().quantize_absmax(x.data(), n, q.data(), &sum), 0) << n << " at " << at;
        ASSERT_EQ(q, std::vector<std::int8_t>(n, 0));
        ASSERT_EQ(sum, 0);
        std::vector<std::int8_t> low(n, 5);
        sum = 5;
        ASSERT_EQ(ops().quantize_digits(x.data(), n, kMost16Bits, q.data(), low.data(), &sum), 0);
        ASSERT_EQ(q, std::vector<std::int8_t>(n, 0));
        ASSERT_EQ(low, q);
        ASSERT_EQ(sum, 0);
      }
    }
  }
}

TEST_P(Float32Finite, QuantizeTakesTheLargestFinite) {
  const std::vector<float> x = {kMost, -kMost, 1, kMost / 2};
  std::vector<std::int8_t> q(4);
  std::int32_t sum = 0;
  EXPECT_EQ(ops().quantize_absmax(x.data(), 4, q.data(), &sum), 127.0f / kMost);
  EXPECT_EQ(q[0], 127);
  EXPECT_EQ(q[1], -127);
  EXPECT_EQ(q[2], 0);
}

TEST_P(Float32Finite, NormSeesOneBadValueAnywhere) {
  for (const std::size_t n : {1u, 16u, 17u, 100u}) {
    const std::vector<float> w(n, 1);
    for (std::size_t at = 0; at < n; ++at) {
      for (const float bad : {kInf, -kInf, kNan}) {
        std::vector<float> x = SomeFloats(n), out(n, 5);
        x[at] = bad;
        ASSERT_FALSE(ops().rms_norm(x.data(), w.data(), n, n, 1e-5f, out.data())) << n << ' ' << at;
        ASSERT_EQ(out, std::vector<float>(n, 0.0f));
      }
    }
  }
}

/// The norm in double of x times 2^shift, whose own squares are ordinary.
void ExpectNorm(const FloatOps& ops, std::vector<float> x, float eps) {
  const std::size_t n = x.size();
  std::vector<float> w(n), out(n);
  for (std::size_t i = 0; i < n; ++i) w[i] = 1 + i % 3;
  double squares = 0;
  for (const float v : x) squares += static_cast<double>(v) * static_cast<double>(v);
  const double all = static_cast<double>(n) + 5;  // five elements more, all zero
  const double rms = std::sqrt(squares / all + static_cast<double>(eps));
  ASSERT_TRUE(ops.rms_norm(x.data(), w.data(), n, n + 5, eps, out.data()));
  for (std::size_t i = 0; i < n; ++i) {
    const double want = static_cast<double>(x[i]) / rms * static_cast<double>(w[i]);
    ASSERT_NEAR(out[i], want, 2e-6 * std::fabs(want) + 3e-45)
        << i << " of " << n << ", eps " << eps;
  }
}

TEST_P(Float32Finite, NormScalesBeforeItSquares) {
  for (const std::size_t n : {1u, 16u, 40u, 100u}) {
    // 2^-145: subnormals of few bits, which are multiples of 2^-149 all the same.
    for (const int shift : {126, 100, 64, 63, 30, 0, -39, -41, -64, -75, -100, -126, -145}) {
      std::vector<float> x = SomeFloats(n);
      for (float& v : x) v = std::ldexp(v, shift - 1);
      for (const float eps : {0.0f, 1e-30f, 1e-12f, 1e-5f, 1.0f}) {
        ExpectNorm(ops(), x, eps);
        // Numbers of very different sizes: the small ones vanish beside the large one, as they
        // should.
        std::vector<float> mixed = x;
        mixed[0] = std::ldexp(1.0f, shift);
        if (n > 1) mixed[1] = 0;
        ExpectNorm(ops(), mixed, eps);
      }
    }
  }
}

TEST_P(Float32Finite, NormOfZerosNeedsAnEpsilon) {
  const std::vector<float> zeros(20), w(20, 3);
  std::vector<float> out(20, 5);
  EXPECT_FALSE(ops().rms_norm(zeros.data(), w.data(), 20, 20, 0, out.data()));
  EXPECT_EQ(out, zeros);
  for (const float eps : {1e-45f, 1e-30f, 1e-5f}) {
    out.assign(20, 5);
    EXPECT_TRUE(ops().rms_norm(zeros.data(), w.data(), 20, 20, eps, out.data()));
    EXPECT_EQ(out, zeros);
  }
}

TEST_P(Float32Finite, NormStaysFiniteUpToItsLargestWeights) {
  const std::vector<float> w(100, 0x1p100f);
  std::vector<float> x(100), out(100);
  for (const float v : {kMost, 1.0f, 1e-40f}) {
    x[50] = v;
    ASSERT_TRUE(ops().rms_norm(x.data(), w.data(), 100, 100, 0, out.data()));
    EXPECT_NEAR(out[50] / (10 * 0x1p100f), 1, 1e-6);
  }
}

/// One query over some positions in a float cache; score of position i is query * key[i].
std::vector<float> Attend(const FloatOps& ops, float query, const std::vector<float>& keys) {
  constexpr std::size_t kDim = 16;
  const std::size_t positions = keys.size(), padded = (positions + 15) / 16 * 16;
  std::vector<float> q(kDim), k(padded * kDim), v(padded * kDim, 1), out(kDim);
  std::vector<float> scratch(AttentionScratch(padded + 1, kDim));
  q[0] = query;
  for (std::size_t p = 0; p < positions; ++p) k[p / 16 * 16 * kDim + p % 16] = keys[p];
  AttentionArgs args{};
  args.queries = q.data();
  args.out = out.data();
  args.query_stride = args.out_stride = kDim;
  args.keys = k.data();
  args.values = v.data();
  args.scratch = scratch.data();
  args.num_tokens = args.num_queries = 1;
  args.head_dim = kDim;
  args.num_positions = positions;
  args.scale = 1;
  args.element = KvElement::kF32;
  ops.attention(&args);
  return out;
}

TEST_P(Float32Finite, AttentionHidesNoScore) {
  for (const std::size_t positions : {1u, 16u, 17u, 40u, 300u}) {
    for (const float key : {1e20f, -1e20f}) {  // times 1e20: an infinity of either sign
      std::vector<float> keys(positions, 1e-20f);
      EXPECT_NEAR(Attend(ops(), 1e20f, keys)[0], 1, 1e-5);
      keys[positions - 1] = key;
      EXPECT_TRUE(std::isnan(Attend(ops(), 1e20f, keys)[0])) << positions << " key " << key;
    }
    // Finite scores far apart: the difference may overflow, which is a weight of zero.
    std::vector<float> keys(positions, -1e18f);
    keys[0] = 1e18f;
    EXPECT_EQ(Attend(ops(), 3e20f, keys)[0], 1);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Float32Finite, testing::ValuesIn(FloatKernels()), FloatKernelName);

}  // namespace
}  // namespace bittern::kernels
