// SPDX-License-Identifier: Apache-2.0
// Every encoder against its decoder: what comes back is within the bound that the format allows.
#include "quant/blocks/quantize.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "base/float16.hpp"
#include "quant/blocks/dequantize.hpp"

namespace bittern::quant {
namespace {

std::vector<float> RoundTrip(WeightFormat format, const std::vector<float>& in) {
  const auto bytes = TensorBytes(InfoOf(format), in.size(), 1);
  std::vector<std::byte> row(bytes.value());
  QuantizeRowFor(format)(in.data(), in.size(), row.data());
  std::vector<float> out(in.size());
  DequantizeRowFor(format)(row.data(), in.size(), out.data());
  return out;
}

std::vector<float> Random(std::size_t n, float spread, unsigned seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal(0, spread);
  std::vector<float> values(n);
  for (float& value : values) value = normal(rng);
  return values;
}

float Largest(const float* x, std::size_t n) {
  float largest = 0;
  for (std::size_t i = 0; i < n; ++i) largest = std::max(largest, std::fabs(x[i]));
  return largest;
}

TEST(Quantize, PlainFormatsRoundToNearest) {
  const auto in = Random(512, 3, 1);
  EXPECT_EQ(RoundTrip(WeightFormat::kF32, in), in);
  const auto half = RoundTrip(WeightFormat::kF16, in);
  const auto brain = RoundTrip(WeightFormat::kBF16, in);
  for (std::size_t i = 0; i < in.size(); ++i) {
    EXPECT_EQ(half[i], HalfToFloat(FloatToHalf(in[i])));
    EXPECT_EQ(brain[i], BfloatToFloat(FloatToBfloat(in[i])));
  }
}

TEST(Quantize, Q8_0StaysWithinHalfAStep) {
  for (const float spread : {0.02f, 1.0f, 500.0f}) {
    const auto in = Random(32 * 200, spread, 2);
    const auto out = RoundTrip(WeightFormat::kQ8_0, in);
    for (std::size_t i = 0; i < in.size(); ++i) {
      const float step = Largest(&in[i / 32 * 32], 32) / 127;
      // Half a step, and the rounding of d to 11 bits times a code of at most 127.
      EXPECT_LE(std::fabs(in[i] - out[i]), step * (0.501f + 127 * 0x1p-11f)) << i;
    }
  }
}

TEST(Quantize, Q8_0IsExactWhereItCan) {
  std::vector<float> in(64, 0);
  for (std::size_t i = 0; i < 31; ++i) in[i] = 0.25f * (8 * static_cast<float>(i) - 127);
  in[31] = 0.25f * 127;
  EXPECT_EQ(RoundTrip(WeightFormat::kQ8_0, in), in);
}

/// The bound for group g of a block: about half a step of its own, and what the int8 scale loses.
void ExpectWithinBound(const std::vector<float>& in, const std::vector<float>& out) {
  for (std::size_t b = 0; b < in.size(); b += 256) {
    const float block_step = Largest(&in[b], 256) / 31;
    for (std::size_t g = b; g < b + 256; g += 16) {
      const float step = Largest(&in[g], 16) / 31;
      for (std::size_t i = g; i < g + 16; ++i) {
        EXPECT_LE(std::fabs(in[i] - out[i]), 1.1f * step + block_step / 7) << i;
      }
    }
  }
}

double SquaredError(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += double(a[i] - b[i]) * double(a[i] - b[i]);
  return sum;
}

TEST(Quantize, Q6_KStaysWithinTheFormatsBound) {
  for (const float spread : {0.02f, 1.0f, 500.0f}) {
    const auto in = Random(256 * 50, spread, 3);
    const auto out = RoundTrip(WeightFormat::kQ6_K, in);
    ExpectWithinBound(in, out);
    // Normal weights keep about 5.9 bits: the error is near (amax / 31)^2 / 12 of each group.
    double power = 0;
    for (const float x : in) power += double(x) * double(x);
    EXPECT_LT(SquaredError(in, out) / power, 4.5e-4);
  }
}

TEST(Quantize, Q6_KRecoversItsOwnValues) {
  // Blocks whose groups use code -32 and int8 scale -128 once: an encoder can find them exactly.
  std::mt19937 rng(4);
  std::vector<float> in(256);
  for (std::size_t g = 0; g < 16; ++g) {
    const float scale = g == 0 ? -128.0f : static_cast<float>(static_cast<int>(rng() % 200) - 100);
    for (std::size_t i = 0; i < 16; ++i) {
      const int code = i == 0 ? -32 : static_cast<int>(rng() % 64) - 32;
      in[g * 16 + i] = 0.0078125f * scale * static_cast<float>(code);
    }
  }
  const auto out = RoundTrip(WeightFormat::kQ6_K, in);
  for (std::size_t i = 0; i < in.size(); ++i) EXPECT_NEAR(out[i], in[i], 1e-6) << i;
}

TEST(Quantize, ZerosStayZero) {
  const std::vector<float> zeros(512, 0.0f);
  for (const auto format : {WeightFormat::kQ8_0, WeightFormat::kQ6_K, WeightFormat::kF16}) {
    EXPECT_EQ(RoundTrip(format, zeros), zeros);
  }
  // A block with one weight, and weights below everything that binary16 scales reach.
  std::vector<float> lone(512, 0.0f);
  lone[100] = -2.5f;
  lone[300] = 1e-30f;
  for (const auto format : {WeightFormat::kQ8_0, WeightFormat::kQ6_K}) {
    const auto out = RoundTrip(format, lone);
    EXPECT_NEAR(out[100], -2.5f, 0.005f);
    EXPECT_NEAR(out[300], 0, 1e-7f);
    EXPECT_EQ(out[0], 0);
  }
}

}  // namespace
}  // namespace bittern::quant
