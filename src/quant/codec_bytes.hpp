// SPDX-License-Identifier: Apache-2.0
// Small moves that the codecs share: numbers in and out of unaligned bytes, weights to codes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/float16.hpp"

namespace bittern::quant {

inline constexpr std::uint8_t kZeroCode = 1;     ///< weight 0
inline constexpr std::uint8_t kInvalidCode = 3;  ///< what unpack gives for a weight out of range

[[nodiscard]] inline const std::uint8_t* AsBytes(const std::byte* p) noexcept {
  return reinterpret_cast<const std::uint8_t*>(p);
}
[[nodiscard]] inline std::uint8_t* AsBytes(std::byte* p) noexcept {
  return reinterpret_cast<std::uint8_t*>(p);
}

[[nodiscard]] inline float LoadFloat(const std::uint8_t* p) noexcept {
  float value;
  std::memcpy(&value, p, sizeof value);
  return value;
}
inline void StoreFloat(float value, std::uint8_t* p) noexcept {
  std::memcpy(p, &value, sizeof value);
}

[[nodiscard]] inline float LoadHalf(const std::uint8_t* p) noexcept {
  return HalfToFloat(static_cast<std::uint16_t>(p[0] | p[1] << 8));
}
inline void StoreHalf(float value, std::uint8_t* p) noexcept {
  const std::uint16_t half = FloatToHalf(value);
  p[0] = static_cast<std::uint8_t>(half & 0xff);
  p[1] = static_cast<std::uint8_t>(half >> 8);
}

/// How formats store a scale: TernaryCodec::stored_scale.
[[nodiscard]] inline float ScaleAsFloat(float scale) noexcept { return scale; }
[[nodiscard]] inline float ScaleAsHalf(float scale) noexcept {
  return HalfToFloat(FloatToHalf(scale));
}

/// The one scale of a tensor, for each of its rows.
inline void RepeatScale(float scale, std::size_t count, float* scales) noexcept {
  for (std::size_t i = 0; i < count; ++i) scales[i] = scale;
}

/// The tail of bitnet.cpp's formats: the scale and 28 bytes of nothing.
inline constexpr std::size_t kScaleTailBytes = 32;
inline void StoreScaleTail(float scale, std::uint8_t* tail) noexcept {
  std::memset(tail, 0, kScaleTailBytes);
  StoreFloat(scale, tail);
}

}  // namespace bittern::quant
