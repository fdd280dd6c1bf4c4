// SPDX-License-Identifier: Apache-2.0
// Ternary weights written out as floats (F32, F16, BF16), as converters leave them: every row
// holds only -s, 0 and s for one s of its own. Magnitudes below 1e-6 count as 0, as in
// bitnet.cpp's quantiser; anything else unpacks to the invalid code and is refused by name.
#include <cmath>

#include "quant/codec_bytes.hpp"
#include "quant/codec_list.hpp"

namespace bittern::quant {
namespace {

constexpr float kZeroBelow = 1e-6f;

struct Single {
  static constexpr std::size_t kBytes = 4;
  static float Load(const std::uint8_t* p) noexcept { return LoadFloat(p); }
  static void Store(float value, std::uint8_t* p) noexcept { StoreFloat(value, p); }
  static float Stored(float scale) noexcept { return scale; }
};
struct Half {
  static constexpr std::size_t kBytes = 2;
  static float Load(const std::uint8_t* p) noexcept { return LoadHalf(p); }
  static void Store(float value, std::uint8_t* p) noexcept { StoreHalf(value, p); }
  static float Stored(float scale) noexcept { return ScaleAsHalf(scale); }
};
struct Brain {
  static constexpr std::size_t kBytes = 2;
  static float Load(const std::uint8_t* p) noexcept {
    return BfloatToFloat(static_cast<std::uint16_t>(p[0] | p[1] << 8));
  }
  static void Store(float value, std::uint8_t* p) noexcept {
    const std::uint16_t bits = FloatToBfloat(value);
    p[0] = static_cast<std::uint8_t>(bits & 0xff);
    p[1] = static_cast<std::uint8_t>(bits >> 8);
  }
  static float Stored(float scale) noexcept { return BfloatToFloat(FloatToBfloat(scale)); }
};

/// The code of a weight in a row of this scale; kInvalidCode if it is no ternary weight.
std::uint8_t CodeOf(float weight, float scale) noexcept {
  if (weight == scale && scale > 0) return 2;
  if (weight == -scale && scale > 0) return 0;
  return std::fabs(weight) < kZeroBelow ? kZeroCode : kInvalidCode;  // NaN: invalid
}

/// A row's scale is its largest magnitude; a row of zeros has scale 0.
template <class Number>
void UnpackRows(const TernaryView& view, std::size_t first, std::size_t count, std::uint8_t* codes,
                float* scales) noexcept {
  const std::uint8_t* in = AsBytes(view.bytes.data()) + first * view.cols * Number::kBytes;
  for (std::size_t r = 0; r < count; ++r, in += view.cols * Number::kBytes) {
    float scale = 0;
    for (std::size_t k = 0; k < view.cols; ++k) {
      const float magnitude = std::fabs(Number::Load(in + k * Number::kBytes));
      if (magnitude > scale) scale = magnitude;
    }
    for (std::size_t k = 0; k < view.cols; ++k) {
      *codes++ = CodeOf(Number::Load(in + k * Number::kBytes), scale);
    }
    scales[r] = scale;
  }
}

template <class Number>
void PackRows(const TernaryValues& values, std::byte* out) noexcept {
  std::uint8_t* to = AsBytes(out);
  const std::uint8_t* codes = values.codes.data();
  for (std::size_t r = 0; r < values.rows; ++r) {
    for (std::size_t k = 0; k < values.cols; ++k, to += Number::kBytes) {
      Number::Store(static_cast<float>(*codes++ - 1) * values.scales[r], to);
    }
  }
}

template <class Number>
TernaryCodec Codec(TernaryLayout layout, std::string_view name, WeightFormat format) {
  return {.layout = layout,
          .name = name,
          .format = format,
          .grain = ScaleGrain::kRow,
          .group_cols = 0,
          .stored_scale = Number::Stored,
          .check = [](std::size_t, std::size_t, const TlTiling&) -> Result<void> { return {}; },
          .bytes = [](std::size_t rows, std::size_t cols,
                      const TlTiling&) { return rows * cols * Number::kBytes; },
          .unpack = UnpackRows<Number>,
          .pack = PackRows<Number>};
}

}  // namespace

TernaryCodec F32Codec() noexcept {
  return Codec<Single>(TernaryLayout::kF32, "f32", WeightFormat::kF32);
}
TernaryCodec F16Codec() noexcept {
  return Codec<Half>(TernaryLayout::kF16, "f16", WeightFormat::kF16);
}
TernaryCodec Bf16Codec() noexcept {
  return Codec<Brain>(TernaryLayout::kBf16, "bf16", WeightFormat::kBF16);
}

}  // namespace bittern::quant
