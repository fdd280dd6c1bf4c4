// SPDX-License-Identifier: Apache-2.0
// ik_llama.cpp's BitNet formats. A row begins with its scale; its weights come in blocks of 64.
//
// IQ2_BN (135), row = d (float), 16 bytes a block: byte i holds, bits 1-0 first, the weights i,
// 16 + i, 32 + i, 48 + i.
//
// IQ2_BN_R4 (335), four rows together: four floats, then 64 bytes a block: byte 4 r + i + 16 l
// holds, bits 1-0 first, row r's weights 16 l + i, + 4, + 8, + 12.
//
// IQ1_BN (134), row = d (binary16), 13 bytes a block, in base 3 (trits.hpp) with the FIRST weight
// as the least significant digit: byte 3 g + k (g 0..3, k 0..2) holds the weights
// 16 g + 5 k .. + 4; byte 12 holds the weights 15, 31, 47, 63.
//
// weight = (code - 1) * d. Source: ik_llama.cpp, iqk_quantize.cpp.
#include "quant/codec_bytes.hpp"
#include "quant/codec_list.hpp"
#include "quant/trits.hpp"

namespace bittern::quant {
namespace {

constexpr std::size_t kBnBlock = 64;
constexpr std::size_t kIq2BlockBytes = 16, kIq1BlockBytes = 13;

// A row with its scale in front.
std::size_t Iq2RowBytes(std::size_t cols) { return 4 + cols / kBnBlock * kIq2BlockBytes; }
std::size_t Iq1RowBytes(std::size_t cols) { return 2 + cols / kBnBlock * kIq1BlockBytes; }

std::size_t Iq2Bytes(std::size_t rows, std::size_t cols, const TlTiling&) {
  return rows * Iq2RowBytes(cols);
}
std::size_t Iq1Bytes(std::size_t rows, std::size_t cols, const TlTiling&) {
  return rows * Iq1RowBytes(cols);
}

void UnpackIq2(const TernaryView& view, std::size_t first, std::size_t count, std::uint8_t* codes,
               float* scales) noexcept {
  for (std::size_t r = 0; r < count; ++r, codes += view.cols) {
    const std::uint8_t* row = AsBytes(view.bytes.data()) + (first + r) * Iq2RowBytes(view.cols);
    scales[r] = LoadFloat(row);
    for (std::size_t k = 0; k < view.cols; ++k) {
      const std::uint8_t byte = row[4 + k / kBnBlock * kIq2BlockBytes + k % 16];
      codes[k] = static_cast<std::uint8_t>(byte >> (k % kBnBlock / 16 * 2) & 3);
    }
  }
}

void PackIq2(const TernaryValues& values, std::byte* out) noexcept {
  for (std::size_t r = 0; r < values.rows; ++r) {
    std::uint8_t* row = AsBytes(out) + r * Iq2RowBytes(values.cols);
    const std::uint8_t* codes = values.codes.data() + r * values.cols;
    StoreFloat(values.scales[r], row);
    for (std::size_t i = 0; i < values.cols / 4; ++i) {
      const std::uint8_t* c = codes + i / kIq2BlockBytes * kBnBlock + i % kIq2BlockBytes;
      row[4 + i] = static_cast<std::uint8_t>(c[0] | c[16] << 2 | c[32] << 4 | c[48] << 6);
    }
  }
}

/// Rows of a group of four are found one by one, so any range of rows may be asked for.
void UnpackR4(const TernaryView& view, std::size_t first, std::size_t count, std::uint8_t* codes,
              float* scales) noexcept {
  for (std::size_t r = 0; r < count; ++r, codes += view.cols) {
    const std::size_t row = (first + r) % 4;
    const std::uint8_t* four =
        AsBytes(view.bytes.data()) + (first + r) / 4 * 4 * Iq2RowBytes(view.cols);
    scales[r] = LoadFloat(four + 4 * row);
    for (std::size_t k = 0; k < view.cols; ++k) {
      const std::size_t l = k % kBnBlock / 16, i = k % 4;
      const std::uint8_t byte = four[16 + k / kBnBlock * kBnBlock + 4 * row + i + 16 * l];
      codes[k] = static_cast<std::uint8_t>(byte >> (k % 16 / 4 * 2) & 3);
    }
  }
}

void PackR4(const TernaryValues& values, std::byte* out) noexcept {
  for (std::size_t r = 0; r < values.rows; ++r) {
    std::uint8_t* four = AsBytes(out) + r / 4 * 4 * Iq2RowBytes(values.cols);
    const std::uint8_t* codes = values.codes.data() + r * values.cols;
    StoreFloat(values.scales[r], four + 4 * (r % 4));
    for (std::size_t k = 0; k < values.cols; k += 16) {
      for (std::size_t i = 0; i < 4; ++i) {
        const std::uint8_t* c = codes + k + i;
        four[16 + k / kBnBlock * kBnBlock + 4 * (r % 4) + i + k % kBnBlock] =
            static_cast<std::uint8_t>(c[0] | c[4] << 2 | c[8] << 4 | c[12] << 6);
      }
    }
  }
}

/// First weight and distance of the weights in byte b of an IQ1_BN block, and how many there are.
struct Iq1Byte {
  std::size_t first, stride, count;
};
constexpr Iq1Byte PlaceOf(std::size_t b) {
  return b == 12 ? Iq1Byte{15, 16, 4} : Iq1Byte{b / 3 * 16 + b % 3 * 5, 1, 5};
}

/// kTrits has the most significant digit first; here the first weight is the least significant.
void UnpackIq1(const TernaryView& view, std::size_t first, std::size_t count, std::uint8_t* codes,
               float* scales) noexcept {
  for (std::size_t r = 0; r < count; ++r) {
    const std::uint8_t* row = AsBytes(view.bytes.data()) + (first + r) * Iq1RowBytes(view.cols);
    scales[r] = LoadHalf(row);
    const std::uint8_t* in = row + 2;
    for (std::size_t k = 0; k < view.cols; k += kBnBlock, codes += kBnBlock) {
      for (std::size_t b = 0; b < kIq1BlockBytes; ++b) {
        const Iq1Byte place = PlaceOf(b);
        const auto& trits = kTrits[*in++];
        for (std::size_t n = 0; n < place.count; ++n) {
          codes[place.first + n * place.stride] = trits[kTritsPerByte - 1 - n];
        }
      }
    }
  }
}

void PackIq1(const TernaryValues& values, std::byte* out) noexcept {
  std::uint8_t* to = AsBytes(out);
  const std::uint8_t* codes = values.codes.data();
  for (std::size_t r = 0; r < values.rows; ++r) {
    StoreHalf(values.scales[r], to);
    to += 2;
    for (std::size_t k = 0; k < values.cols; k += kBnBlock, codes += kBnBlock) {
      for (std::size_t b = 0; b < kIq1BlockBytes; ++b) {
        const Iq1Byte place = PlaceOf(b);
        std::uint8_t digits[kTritsPerByte] = {};
        for (std::size_t n = 0; n < place.count; ++n) {
          digits[kTritsPerByte - 1 - n] = codes[place.first + n * place.stride];
        }
        *to++ = PackTrits(digits, kTritsPerByte, 1);
      }
    }
  }
}

}  // namespace

TernaryCodec Iq1BnCodec() noexcept {
  return {
      .layout = TernaryLayout::kIq1Bn,
      .name = "iq1_bn",
      .format = WeightFormat::kIQ1_BN,
      .grain = ScaleGrain::kRow,
      .group_cols = 0,
      .stored_scale = ScaleAsHalf,
      .check = [](std::size_t rows, std::size_t cols,
                  const TlTiling&) { return CheckMultiples("IQ1_BN", rows, 1, cols, kBnBlock); },
      .bytes = Iq1Bytes,
      .unpack = UnpackIq1,
      .pack = PackIq1};
}

TernaryCodec Iq2BnCodec() noexcept {
  return {
      .layout = TernaryLayout::kIq2Bn,
      .name = "iq2_bn",
      .format = WeightFormat::kIQ2_BN,
      .grain = ScaleGrain::kRow,
      .group_cols = 0,
      .stored_scale = ScaleAsFloat,
      .check = [](std::size_t rows, std::size_t cols,
                  const TlTiling&) { return CheckMultiples("IQ2_BN", rows, 1, cols, kBnBlock); },
      .bytes = Iq2Bytes,
      .unpack = UnpackIq2,
      .pack = PackIq2};
}

TernaryCodec Iq2BnR4Codec() noexcept {
  return {
      .layout = TernaryLayout::kIq2BnR4,
      .name = "iq2_bn_r4",
      .format = WeightFormat::kIQ2_BN_R4,
      .grain = ScaleGrain::kRow,
      .group_cols = 0,
      .stored_scale = ScaleAsFloat,
      .check = [](std::size_t rows, std::size_t cols,
                  const TlTiling&) { return CheckMultiples("IQ2_BN_R4", rows, 4, cols, kBnBlock); },
      .bytes = Iq2Bytes,
      .unpack = UnpackR4,
      .pack = PackR4};
}

}  // namespace bittern::quant
