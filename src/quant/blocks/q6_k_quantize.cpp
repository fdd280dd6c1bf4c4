// SPDX-License-Identifier: Apache-2.0
// Choosing scales for Q6_K. A block of 256 weights has sixteen groups of 16; a group's scale is an
// int8 multiple of the block's d, so the largest group fixes d and the others round to it.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/float16.hpp"
#include "quant/blocks/q6_k.hpp"
#include "quant/blocks/quantize.hpp"

namespace bittern::quant {
namespace {

constexpr std::size_t kQ6Group = 16;
constexpr std::size_t kQ6Groups = kQ6_KBlock / kQ6Group;
constexpr float kMinCode = -32, kMaxCode = 31;

/// Nearest integer for |x| < 2^22, ties to even: the addition rounds, vectorised by the compiler.
float Nearest(float x) noexcept {
  constexpr float kMagic = 12582912.0f;  // 1.5 * 2^23
  return (x + kMagic) - kMagic;
}

/// The value of largest magnitude; the positive one of two. Written with min and max because
/// clang 19 at -O3 loses the first element of the loop that keeps "the larger by fabs".
float Extreme(const float* x, std::size_t n) noexcept {
  float lowest = 0, highest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    lowest = std::min(lowest, x[i]);
    highest = std::max(highest, x[i]);
  }
  return -lowest > highest ? lowest : highest;
}

/// The scale of one group: x is about scale * code. Candidates put the weight of largest
/// magnitude near code -32, the one with most room; for each the best scale is known in closed
/// form, and the pair with the least weighted error wins.
float GroupScale(const float* x) noexcept {
  const float extreme = Extreme(x, kQ6Group);
  if (extreme == 0) return 0;
  float best_gain = 0, best_scale = 0;
  for (int step = -9; step <= 9; ++step) {
    const float inverse = (kMinCode + 0.1f * static_cast<float>(step)) / extreme;
    if (!std::isfinite(inverse)) return extreme / kMinCode;
    float cross = 0, power = 0;  // sums of w x c and w c c, w = x^2
    for (std::size_t i = 0; i < kQ6Group; ++i) {
      const float code = std::clamp(Nearest(x[i] * inverse), kMinCode, kMaxCode);
      cross += x[i] * x[i] * x[i] * code;
      power += x[i] * x[i] * code * code;
    }
    // With scale = cross / power the error is constant - cross^2 / power.
    if (power > 0 && cross * cross > best_gain * power) {
      best_gain = cross * cross / power;
      best_scale = cross / power;
    }
  }
  return best_scale != 0 ? best_scale : extreme / kMinCode;
}

/// Puts the 6-bit code of weight i into the block's low and high bits (q6_k.hpp).
void PutCode(std::size_t i, unsigned code, std::uint8_t* block) noexcept {
  const std::size_t half = i / 128, k = i % 128 / 32, l = i % 32;
  std::uint8_t& low = block[64 * half + 32 * (k % 2) + l];
  std::uint8_t& high = block[128 + 32 * half + l];
  low = static_cast<std::uint8_t>(low | (code & 15) << (k < 2 ? 0 : 4));
  high = static_cast<std::uint8_t>(high | (code >> 4) << (2 * k));
}

/// 256 weights into a block: low bits, high bits, 16 scales of int8, then d as binary16.
void QuantizeBlock(const float* in, std::uint8_t* block) noexcept {
  std::array<float, kQ6Groups> scales;
  for (std::size_t g = 0; g < kQ6Groups; ++g) scales[g] = GroupScale(in + g * kQ6Group);
  const float extreme = Extreme(scales.data(), kQ6Groups);
  // The extreme scale becomes -128, so that all of int8 is used.
  const std::uint16_t half = FloatToHalf(extreme / -128);
  const float d = HalfToFloat(half);
  std::memset(block, 0, kQ6_KBlockBytes);
  std::memcpy(block + 208, &half, sizeof half);
  for (std::size_t g = 0; g < kQ6Groups; ++g) {
    const float ratio = d != 0 ? scales[g] / d : 0;
    const float scale = std::clamp(Nearest(std::clamp(ratio, -200.0f, 200.0f)), -128.0f, 127.0f);
    block[192 + g] = static_cast<std::uint8_t>(static_cast<std::int8_t>(scale));
    const float step = d * scale;
    for (std::size_t i = g * kQ6Group; i < (g + 1) * kQ6Group; ++i) {
      const float wanted = step != 0 ? std::clamp(in[i] / step, kMinCode, kMaxCode) : 0;
      PutCode(i, static_cast<unsigned>(static_cast<int>(Nearest(wanted)) + 32), block);
    }
  }
}

}  // namespace

void QuantizeRowQ6_K(const float* in, std::size_t n, std::byte* row) noexcept {
  auto* block = reinterpret_cast<std::uint8_t*>(row);
  for (std::size_t b = 0; b < n / kQ6_KBlock; ++b, in += kQ6_KBlock, block += kQ6_KBlockBytes) {
    QuantizeBlock(in, block);
  }
}

}  // namespace bittern::quant
