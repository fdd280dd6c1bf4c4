// SPDX-License-Identifier: Apache-2.0
// Scalar on purpose: a token needs one embedding row, a few kilobytes.
#include "quant/blocks/iq4_nl.hpp"

#include <cstdint>
#include <cstring>

#include "base/float16.hpp"

namespace bittern::quant {
namespace {

constexpr float kLevels[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                               1,    13,   25,  38,  53,  69,  89,  113};

}  // namespace

void DequantizeRowIQ4_NL(std::span<const std::byte> row, std::span<float> out) noexcept {
  constexpr std::size_t kHalfBlock = kIQ4_NLBlock / 2;
  for (std::size_t b = 0; b < out.size() / kIQ4_NLBlock; ++b) {
    const std::byte* block = row.data() + b * kIQ4_NLBlockBytes;
    std::uint16_t half;
    std::memcpy(&half, block, sizeof half);
    const float d = HalfToFloat(half);
    float* y = out.data() + b * kIQ4_NLBlock;
    for (std::size_t i = 0; i < kHalfBlock; ++i) {
      const auto nibbles = std::to_integer<unsigned>(block[2 + i]);
      y[i] = d * kLevels[nibbles & 15];
      y[i + kHalfBlock] = d * kLevels[nibbles >> 4];
    }
  }
}

}  // namespace bittern::quant
