// SPDX-License-Identifier: Apache-2.0
// The four layouts that type 36 (I2_S) stands for. All hold two bits a weight, then a tail of 32
// bytes with one scale; they differ in which weights share a byte (w: index in the flat tensor,
// row by row; bits 7-6 first):
//
//   x86-128     block of 128: byte i of 32 holds w[i], w[32 + i], w[64 + i], w[96 + i]  (i2s.hpp)
//   arm-64      block of 64:  byte i of 16 holds w[i], w[16 + i], w[32 + i], w[48 + i]
//   row4        rows in fours: byte [row / 4][col] holds column col of rows 0, 1, 2, 3 of the four
//   sequential  byte i holds w[4 i], w[4 i + 1], w[4 i + 2], w[4 i + 3]
//
// Nothing in a file says which. Read as another, a tensor is a permutation of its right self.
// Sources: bitnet.cpp, src/ggml-bitnet-mad.cpp (the first three); its scalar fallback (the last).
#include "quant/codec_bytes.hpp"
#include "quant/codec_list.hpp"

namespace bittern::quant {
namespace {

std::size_t Bytes(std::size_t rows, std::size_t cols, const TlTiling&) {
  return rows * cols / 4 + kScaleTailBytes;
}

/// The scale, first of the 32 bytes after the weights.
float TailScale(const TernaryView& view) {
  return LoadFloat(AsBytes(view.bytes.data()) + view.rows * view.cols / 4);
}

/// kStride bytes hold 4 * kStride consecutive weights, weight j in byte j % kStride.
template <std::size_t kStride>
void UnpackBlocks(const TernaryView& view, std::size_t first, std::size_t count,
                  std::uint8_t* codes, float* scales) noexcept {
  const std::size_t bytes = count * view.cols / 4;
  const std::uint8_t* in = AsBytes(view.bytes.data()) + first * view.cols / 4;
  for (std::size_t b = 0; b < bytes; b += kStride, in += kStride, codes += 4 * kStride) {
    for (std::size_t field = 0; field < 4; ++field) {
      for (std::size_t i = 0; i < kStride; ++i) {
        codes[field * kStride + i] = static_cast<std::uint8_t>(in[i] >> (6 - 2 * field) & 3);
      }
    }
  }
  RepeatScale(TailScale(view), count, scales);
}

template <std::size_t kStride>
void PackBlocks(const TernaryValues& values, std::byte* out) noexcept {
  std::uint8_t* bytes = AsBytes(out);
  const std::uint8_t* codes = values.codes.data();
  for (std::size_t b = 0; b < values.codes.size() / 4; b += kStride, codes += 4 * kStride) {
    for (std::size_t i = 0; i < kStride; ++i) {
      *bytes++ = static_cast<std::uint8_t>(codes[i] << 6 | codes[kStride + i] << 4 |
                                           codes[2 * kStride + i] << 2 | codes[3 * kStride + i]);
    }
  }
  StoreScaleTail(values.scales[0], bytes);
}

/// The row's place in its four tells which two bits of each byte are its own.
void UnpackRow4(const TernaryView& view, std::size_t first, std::size_t count, std::uint8_t* codes,
                float* scales) noexcept {
  for (std::size_t row = first; row < first + count; ++row, codes += view.cols) {
    const std::uint8_t* in = AsBytes(view.bytes.data()) + row / 4 * view.cols;
    const unsigned shift = 6 - 2 * static_cast<unsigned>(row % 4);
    for (std::size_t col = 0; col < view.cols; ++col) {
      codes[col] = static_cast<std::uint8_t>(in[col] >> shift & 3);
    }
  }
  RepeatScale(TailScale(view), count, scales);
}

void PackRow4(const TernaryValues& values, std::byte* out) noexcept {
  std::uint8_t* bytes = AsBytes(out);
  const std::size_t cols = values.cols;
  for (std::size_t row = 0; row < values.rows; row += 4) {
    const std::uint8_t* codes = values.codes.data() + row * cols;
    for (std::size_t col = 0; col < cols; ++col) {
      *bytes++ = static_cast<std::uint8_t>(codes[col] << 6 | codes[cols + col] << 4 |
                                           codes[2 * cols + col] << 2 | codes[3 * cols + col]);
    }
  }
  StoreScaleTail(values.scales[0], bytes);
}

Result<void> CheckX86(std::size_t rows, std::size_t cols, const TlTiling&) {
  return CheckMultiples("I2_S (x86-128)", rows, 1, cols, 128);
}
Result<void> CheckArm(std::size_t rows, std::size_t cols, const TlTiling&) {
  return CheckMultiples("I2_S (arm-64)", rows, 1, cols, 64);
}
Result<void> CheckRow4(std::size_t rows, std::size_t cols, const TlTiling&) {
  return CheckMultiples("I2_S (row4)", rows, 4, cols, 1);
}
Result<void> CheckSequential(std::size_t rows, std::size_t cols, const TlTiling&) {
  return CheckMultiples("I2_S (sequential)", rows, 1, cols, 4);
}

/// The facts that all four layouts share.
TernaryCodec Codec(TernaryLayout layout, std::string_view name,
                   Result<void> (*check)(std::size_t, std::size_t, const TlTiling&),
                   decltype(TernaryCodec::unpack) unpack, decltype(TernaryCodec::pack) pack) {
  return {.layout = layout,
          .name = name,
          .format = WeightFormat::kI2_S,
          .grain = ScaleGrain::kTensor,
          .group_cols = 0,
          .stored_scale = ScaleAsFloat,
          .check = check,
          .bytes = Bytes,
          .unpack = unpack,
          .pack = pack};
}

}  // namespace

TernaryCodec I2sX86Codec() noexcept {
  return Codec(TernaryLayout::kI2sX86, "i2_s", CheckX86, UnpackBlocks<32>, PackBlocks<32>);
}
TernaryCodec I2sArmCodec() noexcept {
  return Codec(TernaryLayout::kI2sArm, "i2_s:arm-64", CheckArm, UnpackBlocks<16>, PackBlocks<16>);
}
TernaryCodec I2sRow4Codec() noexcept {
  return Codec(TernaryLayout::kI2sRow4, "i2_s:row4", CheckRow4, UnpackRow4, PackRow4);
}
TernaryCodec I2sSequentialCodec() noexcept {
  return Codec(TernaryLayout::kI2sSequential, "i2_s:sequential", CheckSequential, UnpackBlocks<1>,
               PackBlocks<1>);
}

}  // namespace bittern::quant
