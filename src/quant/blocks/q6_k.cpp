// SPDX-License-Identifier: Apache-2.0
// Scalar on purpose: a token needs one embedding row, a few kilobytes.
#include "quant/blocks/q6_k.hpp"

#include <cstdint>
#include <cstring>

#include "base/float16.hpp"

namespace bittern::quant {
namespace {

/// One half of a block: 64 bytes of low bits, 32 of high bits, 8 scales; 128 weights.
void DecodeHalf(const std::byte* low, const std::byte* high, const std::byte* scales, float d,
                float* out) noexcept {
  for (std::size_t k = 0; k < 4; ++k) {
    const std::byte* low_bits = low + (k % 2) * 32;
    const int low_shift = k < 2 ? 0 : 4;
    const int high_shift = static_cast<int>(2 * k);
    for (std::size_t l = 0; l < 32; ++l) {
      const int code = (std::to_integer<int>(low_bits[l]) >> low_shift & 15) |
                       (std::to_integer<int>(high[l]) >> high_shift & 3) << 4;
      const auto scale = static_cast<std::int8_t>(scales[l / 16 + 2 * k]);
      out[32 * k + l] = d * static_cast<float>(scale) * static_cast<float>(code - 32);
    }
  }
}

}  // namespace

void DequantizeRowQ6_K(std::span<const std::byte> row, std::span<float> out) noexcept {
  for (std::size_t b = 0; b < out.size() / kQ6_KBlock; ++b) {
    const std::byte* block = row.data() + b * kQ6_KBlockBytes;
    std::uint16_t half;
    std::memcpy(&half, block + 208, sizeof half);
    const float d = HalfToFloat(half);
    float* y = out.data() + b * kQ6_KBlock;
    DecodeHalf(block, block + 128, block + 192, d, y);
    DecodeHalf(block + 64, block + 160, block + 200, d, y + 128);
  }
}

}  // namespace bittern::quant
