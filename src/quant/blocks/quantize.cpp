// SPDX-License-Identifier: Apache-2.0
#include "quant/blocks/quantize.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/float16.hpp"
#include "quant/blocks/q8_0.hpp"

namespace bittern::quant {
namespace {

/// roundf for |x| < 2^30, without a call of libm: the sum is exact in double.
float RoundAwayFromZero(float x) noexcept {
  const double wide = x;
  return static_cast<float>(static_cast<std::int32_t>(wide < 0 ? wide - 0.5 : wide + 0.5));
}

void EncodeF32(const float* in, std::size_t n, std::byte* row) noexcept {
  std::memcpy(row, in, n * sizeof(float));
}

template <std::uint16_t (*Narrow)(float) noexcept>
void Encode16(const float* in, std::size_t n, std::byte* row) noexcept {
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint16_t bits = Narrow(in[i]);
    std::memcpy(row + i * sizeof bits, &bits, sizeof bits);
  }
}

}  // namespace

void QuantizeRowQ8_0(const float* in, std::size_t n, std::byte* row) noexcept {
  for (std::size_t b = 0; b < n / kQ8_0Block; ++b, in += kQ8_0Block, row += kQ8_0BlockBytes) {
    float largest = 0;
    for (std::size_t i = 0; i < kQ8_0Block; ++i) largest = std::max(largest, std::fabs(in[i]));
    const float d = largest / 127;
    const float inverse = d > 0 ? 1 / d : 0;
    const std::uint16_t half = FloatToHalf(d);
    std::memcpy(row, &half, sizeof half);
    for (std::size_t i = 0; i < kQ8_0Block; ++i) {
      // 1 / d is infinite for the smallest subnormal d, and 0 times it NaN, which min makes 127;
      // the cast is safe, and d itself is 0 as a half.
      const float code = RoundAwayFromZero(std::max(-127.0f, std::min(127.0f, in[i] * inverse)));
      row[2 + i] = static_cast<std::byte>(static_cast<std::int8_t>(code));
    }
  }
}

QuantizeRowFn QuantizeRowFor(WeightFormat format) noexcept {
  switch (format) {
    case WeightFormat::kF32:
      return EncodeF32;
    case WeightFormat::kF16:
      return Encode16<FloatToHalf>;
    case WeightFormat::kBF16:
      return Encode16<FloatToBfloat>;
    case WeightFormat::kQ8_0:
      return QuantizeRowQ8_0;
    case WeightFormat::kQ6_K:
      return QuantizeRowQ6_K;
    default:
      return nullptr;
  }
}

}  // namespace bittern::quant
