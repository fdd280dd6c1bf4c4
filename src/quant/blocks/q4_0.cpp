// SPDX-License-Identifier: Apache-2.0
// Scalar on purpose: a token needs one embedding row, a few kilobytes.
#include "quant/blocks/q4_0.hpp"

#include <cstdint>
#include <cstring>

#include "base/float16.hpp"

namespace bittern::quant {

void DequantizeRowQ4_0(std::span<const std::byte> row, std::span<float> out) noexcept {
  constexpr std::size_t kHalfBlock = kQ4_0Block / 2;
  for (std::size_t b = 0; b < out.size() / kQ4_0Block; ++b) {
    const std::byte* block = row.data() + b * kQ4_0BlockBytes;
    std::uint16_t half;
    std::memcpy(&half, block, sizeof half);
    const float d = HalfToFloat(half);
    float* y = out.data() + b * kQ4_0Block;
    for (std::size_t i = 0; i < kHalfBlock; ++i) {
      const auto nibbles = std::to_integer<int>(block[2 + i]);
      y[i] = d * static_cast<float>((nibbles & 15) - 8);
      y[i + kHalfBlock] = d * static_cast<float>((nibbles >> 4) - 8);
    }
  }
}

}  // namespace bittern::quant
