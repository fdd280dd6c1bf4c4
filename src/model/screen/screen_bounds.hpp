// SPDX-License-Identifier: Apache-2.0
// A vector as integers, for the screened head (docs/design/0004-screened-head.md), with the norms
// that bound what was lost. Any thread; nothing is kept.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bittern::model {

/// Norms of rows and vectors are sums of at most n / 16 + 5 rounded terms per lane: 0.1% covers n
/// up to 2^17.
inline constexpr float kWiden = 1.001f;
/// Squares below 2^-149 vanish from a norm; products of steps lose bits near 2^-126.
inline constexpr float kNormFloor = 1e-20f, kLogitFloor = 1e-30f;

inline float Widened(float norm) { return norm * kWiden + kNormFloor; }

/// A vector as integers of 16 bits (256 * high + low) or of 8 (high), and what that costs in the
/// bounds.
struct QuantizedVector {
  float step = 0;
  float high_step = 0;  ///< of `high` alone: 256 * step, or step where there is no low half
  std::int32_t high_sum = 0, low_sum = 0;
  float low_size = 0;   ///< sum of |low|
  float size = 0;       ///< norm of step * integers, rounded up
  float rest_size = 0;  ///< norm of x less that, and of the rounding of floats, per unit of norm
  bool finite = false;
  bool narrow = false;  ///< 8 bits, and met by five bits of every row at once
};

/// Relative error of the head's own dot product (a fused multiply-add per element in sixteen lanes,
/// then a tree) and of the estimates' arithmetic.
[[nodiscard]] float RoundingError(std::size_t cols);

/// 16 bits: half of `high` and `low` each. x: (cols).
[[nodiscard]] QuantizedVector Quantize(const float* x, std::size_t cols, std::int8_t* high,
                                       std::int8_t* low);

/// 8 bits: the scan does half the work, but `rest_size` is larger. There is no low half.
[[nodiscard]] QuantizedVector QuantizeNarrow(const float* x, std::size_t cols, std::int8_t* high);

/// True if 8 bits keep enough of a vector: five bits of each row then still rule out most rows.
/// The test: what is lost moves a product by at most 1.5 standard deviations of the product with a
/// random row of the same norms.
[[nodiscard]] bool IsTightEnough(const QuantizedVector& v, std::size_t cols) noexcept;

}  // namespace bittern::model
