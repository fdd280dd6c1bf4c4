// SPDX-License-Identifier: Apache-2.0
// Sums are double, then rounded up: a bound may be too large, never too small.
#include "model/screen/screen_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace bittern::model {
namespace {

/// Largest magnitude and sum of squares; the latter is not finite where an element is not.
struct Extent {
  float largest = 0;
  double squares = 0;
};

Extent ExtentOf(const float* x, std::size_t cols) {
  Extent extent;
  for (std::size_t i = 0; i < cols; ++i) {
    extent.largest = std::max(extent.largest, std::fabs(x[i]));
    extent.squares += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  }
  return extent;
}

constexpr float kRound = 0x1.8p23f;  // adding it rounds to an integer

}  // namespace

float RoundingError(std::size_t cols) {
  return (static_cast<float>(cols) / 16 + 10) * 0x1p-24f * 1.1f + 0x1p-19f;
}

QuantizedVector Quantize(const float* x, std::size_t cols, std::int8_t* high, std::int8_t* low) {
  QuantizedVector v;
  const Extent extent = ExtentOf(x, cols);
  if (!std::isfinite(extent.squares)) return v;
  v.finite = true;
  // 32639 = 127 * 256 + 127: the largest value whose halves are both int8.
  v.step = std::max(extent.largest, 1e-30f) / 32639.0f;
  v.high_step = 256 * v.step;
  double size = 0, rest = 0, low_size = 0;
  for (std::size_t i = 0; i < cols; ++i) {
    const auto q = static_cast<std::int32_t>(
        (std::clamp(x[i] / v.step, -32639.0f, 32639.0f) + kRound) - kRound);
    const std::int32_t h = (q + 128) >> 8, l = q - 256 * h;
    high[i] = static_cast<std::int8_t>(h);
    low[i] = static_cast<std::int8_t>(l);
    v.high_sum += h;
    v.low_sum += l;
    low_size += std::abs(l);
    const double value = static_cast<double>(v.step) * q;
    size += value * value;
    rest += (static_cast<double>(x[i]) - value) * (static_cast<double>(x[i]) - value);
  }
  v.low_size = static_cast<float>(low_size) * kWiden;
  v.size = static_cast<float>(std::sqrt(size)) * kWiden;
  v.rest_size =
      (static_cast<float>(std::sqrt(rest)) +
       RoundingError(cols) * static_cast<float>(std::sqrt(extent.squares) + std::sqrt(size))) *
      kWiden;
  return v;
}

QuantizedVector QuantizeNarrow(const float* x, std::size_t cols, std::int8_t* high) {
  QuantizedVector v;
  const Extent extent = ExtentOf(x, cols);
  if (!std::isfinite(extent.squares)) return v;
  v.finite = v.narrow = true;
  v.step = v.high_step = std::max(extent.largest, 1e-30f) / 127.0f;
  double size = 0, rest = 0;
  for (std::size_t i = 0; i < cols; ++i) {
    const float q = (std::clamp(x[i] / v.step, -127.0f, 127.0f) + kRound) - kRound;
    high[i] = static_cast<std::int8_t>(q);
    v.high_sum += high[i];
    const double value = static_cast<double>(v.step) * static_cast<double>(q);
    size += value * value;
    rest += (static_cast<double>(x[i]) - value) * (static_cast<double>(x[i]) - value);
  }
  v.size = static_cast<float>(std::sqrt(size)) * kWiden;
  v.rest_size =
      (static_cast<float>(std::sqrt(rest)) +
       RoundingError(cols) * static_cast<float>(std::sqrt(extent.squares) + std::sqrt(size))) *
      kWiden;
  return v;
}

bool IsTightEnough(const QuantizedVector& v, std::size_t cols) noexcept {
  return v.rest_size * std::sqrt(static_cast<float>(cols)) < 1.5f * v.size;
}

}  // namespace bittern::model
