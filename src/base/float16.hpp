// SPDX-License-Identifier: Apache-2.0
// Half precision (IEEE binary16) and bfloat16 to and from float, bit by bit: the written
// definition that every vector conversion is tested against.
#pragma once

#include <bit>
#include <cstdint>

namespace bittern {

/// IEEE 754 binary16 -> binary32, exact; a signalling NaN becomes quiet (as vcvtph2ps does).
/// Without a branch: compilers make vector code of a loop over it.
[[nodiscard]] constexpr float HalfToFloat(std::uint16_t half) noexcept {
  const std::uint32_t sign = std::uint32_t{half & 0x8000u} << 16, rest = half & 0x7fffu;
  // Subnormal: mantissa * 2^-24, exact in float. No operand or result is subnormal.
  const float small = static_cast<float>(static_cast<std::int32_t>(rest)) * 0x1p-24f;
  const std::uint32_t is_small = 0u - std::uint32_t{rest < 0x400u};
  std::uint32_t bits = (rest << 13) + (112u << 23);
  bits = (bits & ~is_small) | (std::bit_cast<std::uint32_t>(small) & is_small);
  bits += std::uint32_t{rest >= 0x7c00u} * (112u << 23);  // infinity or NaN
  bits |= std::uint32_t{rest > 0x7c00u} << 22;
  return std::bit_cast<float>(sign | bits);
}

/// binary32 -> binary16, round to nearest, ties to even; overflow gives infinity.
[[nodiscard]] constexpr std::uint16_t FloatToHalf(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {  // NaN: quiet, keep the top of the payload
    return static_cast<std::uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  }
  if (magnitude >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);
  if (magnitude < 0x38800000u) {  // below the smallest normal half, 2^-14
    // Adding 0.5 puts the half's last bit (2^-24) at the float's last bit: the FPU rounds.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u));
  }
  const std::uint32_t odd = (magnitude >> 13) & 1;
  return static_cast<std::uint16_t>(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13));
}

/// bfloat16 -> binary32, exact.
[[nodiscard]] constexpr float BfloatToFloat(std::uint16_t bfloat) noexcept {
  return std::bit_cast<float>(std::uint32_t{bfloat} << 16);
}

/// binary32 -> bfloat16, round to nearest, ties to even; NaN stays NaN.
[[nodiscard]] constexpr std::uint16_t FloatToBfloat(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16);
}

}  // namespace bittern
