// SPDX-License-Identifier: Apache-2.0
// Scalar on purpose: a token needs one embedding row, a few kilobytes.
#include "quant/blocks/q4_q5.hpp"

#include <cstdint>
#include <cstring>

#include "base/float16.hpp"

namespace bittern::quant {
namespace {

constexpr std::size_t kBlock = 32, kHalf = 2, kFifthBits = 4;

float ReadHalf(const std::byte* p) {
  std::uint16_t half;
  std::memcpy(&half, p, sizeof half);
  return HalfToFloat(half);
}

/// 32 weights of Q4_1, Q5_0 or Q5_1: kFive adds a fifth bit from a word of its own, kOffset a
/// minimum `m` in place of the fixed 16.
template <bool kFive, bool kOffset>
void DecodeBlock(const std::byte* block, float* y) {
  const float d = ReadHalf(block), m = kOffset ? ReadHalf(block + kHalf) : 0;
  block += kOffset ? 2 * kHalf : kHalf;
  std::uint32_t fifth = 0;
  if (kFive) std::memcpy(&fifth, block, kFifthBits);
  const std::byte* nibbles = block + (kFive ? kFifthBits : 0);
  for (std::size_t i = 0; i < kBlock; ++i) {
    const auto byte = std::to_integer<unsigned>(nibbles[i % 16]);
    const unsigned q = (i < 16 ? byte & 15 : byte >> 4) | (fifth >> i & 1) << 4;
    y[i] = kOffset ? d * static_cast<float>(q) + m : d * (static_cast<float>(q) - 16);
  }
}

template <bool kFive, bool kOffset, std::size_t kBytes>
void DecodeRow(std::span<const std::byte> row, std::span<float> out) {
  for (std::size_t b = 0; b < out.size() / kBlock; ++b) {
    DecodeBlock<kFive, kOffset>(row.data() + b * kBytes, out.data() + b * kBlock);
  }
}

}  // namespace

void DequantizeRowQ4_1(std::span<const std::byte> row, std::span<float> out) noexcept {
  DecodeRow<false, true, kQ4_1BlockBytes>(row, out);
}
void DequantizeRowQ5_0(std::span<const std::byte> row, std::span<float> out) noexcept {
  DecodeRow<true, false, kQ5_0BlockBytes>(row, out);
}
void DequantizeRowQ5_1(std::span<const std::byte> row, std::span<float> out) noexcept {
  DecodeRow<true, true, kQ5_1BlockBytes>(row, out);
}

}  // namespace bittern::quant
