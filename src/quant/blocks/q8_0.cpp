// SPDX-License-Identifier: Apache-2.0
// Scalar on purpose: a token needs one embedding row, a few kilobytes.
#include "quant/blocks/q8_0.hpp"

#include <cstdint>
#include <cstring>

#include "base/float16.hpp"

namespace bittern::quant {

void DequantizeRowQ8_0(std::span<const std::byte> row, std::span<float> out) noexcept {
  for (std::size_t b = 0; b < out.size() / kQ8_0Block; ++b) {
    const std::byte* block = row.data() + b * kQ8_0BlockBytes;
    std::uint16_t half;
    std::memcpy(&half, block, sizeof half);
    const float d = HalfToFloat(half);
    for (std::size_t i = 0; i < kQ8_0Block; ++i) {
      const auto q = static_cast<std::int8_t>(block[2 + i]);
      out[b * kQ8_0Block + i] = d * static_cast<float>(q);
    }
  }
}

}  // namespace bittern::quant
