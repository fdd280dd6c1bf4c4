// SPDX-License-Identifier: Apache-2.0
// Scalar on purpose: a token needs one embedding row, a few kilobytes.
#include "quant/blocks/q4_k.hpp"

#include <cstdint>
#include <cstring>

#include "base/float16.hpp"

namespace bittern::quant {
namespace {

constexpr std::size_t kQ4Groups = 8, kQ4Group = 32, kScaleBytes = 12, kFifthBytes = 32;

float ReadScale(const std::byte* p) {
  std::uint16_t half;
  std::memcpy(&half, p, sizeof half);
  return HalfToFloat(half);
}

struct Six {
  unsigned scale, offset;
};

Six ScalesOf(const std::byte* s, std::size_t g) {
  const auto at = [s](std::size_t i) { return std::to_integer<unsigned>(s[i]); };
  if (g < 4) return {at(g) & 63, at(g + 4) & 63};
  return {(at(g + 4) & 15) | at(g - 4) >> 6 << 4, at(g + 4) >> 4 | at(g) >> 6 << 4};
}

/// fifth: null in Q4_K.
void DecodeBlock(const std::byte* block, const std::byte* fifth, const std::byte* nibbles,
                 float* y) {
  const float d = ReadScale(block), e = ReadScale(block + 2);
  for (std::size_t g = 0; g < kQ4Groups; ++g) {
    const Six six = ScalesOf(block + 4, g);
    const float scale = d * static_cast<float>(six.scale);
    const float offset = e * static_cast<float>(six.offset);
    for (std::size_t i = 0; i < kQ4Group; ++i) {
      const auto byte = std::to_integer<unsigned>(nibbles[g / 2 * kQ4Group + i]);
      unsigned q = g % 2 == 0 ? byte & 15 : byte >> 4;
      if (fifth != nullptr) q |= (std::to_integer<unsigned>(fifth[i]) >> g & 1) << 4;
      y[g * kQ4Group + i] = scale * static_cast<float>(q) - offset;
    }
  }
}

}  // namespace

void DequantizeRowQ4_K(std::span<const std::byte> row, std::span<float> out) noexcept {
  for (std::size_t b = 0; b < out.size() / kQ4_KBlock; ++b) {
    const std::byte* block = row.data() + b * kQ4_KBlockBytes;
    DecodeBlock(block, nullptr, block + 4 + kScaleBytes, out.data() + b * kQ4_KBlock);
  }
}

void DequantizeRowQ5_K(std::span<const std::byte> row, std::span<float> out) noexcept {
  for (std::size_t b = 0; b < out.size() / kQ4_KBlock; ++b) {
    const std::byte* block = row.data() + b * kQ5_KBlockBytes;
    const std::byte* fifth = block + 4 + kScaleBytes;
    DecodeBlock(block, fifth, fifth + kFifthBytes, out.data() + b * kQ4_KBlock);
  }
}

}  // namespace bittern::quant
