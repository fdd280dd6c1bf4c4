// SPDX-License-Identifier: Apache-2.0
// llama.cpp's TQ1_0 (34) and TQ2_0 (35), and PrismML's PTQ1_0 (143).
//
// TQ2_0, 66 bytes for 256 weights: qs[64], then d (binary16). Byte 32 h + m holds, bits 1-0
// first, the weights 128 h + m, + 32, + 64, + 96.
//
// TQ1_0, 54 bytes for 256: qs[48], qh[4], d; and PTQ1_0, 28 bytes for 128: qs[24], qh[2], d. Five
// base-3 digits in a byte (trits.hpp), in stages: digit n of byte m of a stage of B bytes that
// begins at weight s is weight s + n B + m.
//
//              TQ1_0                               PTQ1_0
//   stage 1    bytes  0..31, digits 0..4, from 0     bytes  0..15, 0..4, from 0
//   stage 2    bytes 32..47, digits 0..4, from 160   bytes 16..23, 0..4, from 80
//   stage 3    bytes 48..51, digits 0..3, from 240   bytes 24..25, 0..3, from 120
//
// Source: llama.cpp, ggml-quants.c and its fork by PrismML; weight = (code - 1) * d.
#include <cstring>

#include "quant/codec_bytes.hpp"
#include "quant/codec_list.hpp"
#include "quant/trits.hpp"

namespace bittern::quant {
namespace {

/// A run of bytes whose digits are spread alike (see above).
struct Stage {
  std::size_t first_byte, num_bytes, digits, first_weight;
};

struct Tq1_0 {
  static constexpr std::size_t kWeights = 256, kBytes = 54, kScaleAt = 52;
  static constexpr Stage kStages[] = {{0, 32, 5, 0}, {32, 16, 5, 160}, {48, 4, 4, 240}};
};
struct Ptq1_0 {
  static constexpr std::size_t kWeights = 128, kBytes = 28, kScaleAt = 26;
  static constexpr Stage kStages[] = {{0, 16, 5, 0}, {16, 8, 5, 80}, {24, 2, 4, 120}};
};

/// Digit by digit, all bytes at once: a loop that compilers make vectors of.
template <Stage kStage>
void UnpackStage(const std::uint8_t* block, std::uint8_t* codes) noexcept {
  std::uint8_t fractions[kStage.num_bytes];
  std::memcpy(fractions, block + kStage.first_byte, sizeof(fractions));
  std::uint8_t* out = codes + kStage.first_weight;
  for (std::size_t n = 0; n < kStage.digits; ++n, out += kStage.num_bytes) {
    for (std::size_t m = 0; m < kStage.num_bytes; ++m) {
      const auto tripled = static_cast<std::uint16_t>(fractions[m] * 3);
      out[m] = static_cast<std::uint8_t>(tripled >> 8);
      fractions[m] = static_cast<std::uint8_t>(tripled);
    }
  }
}

/// A block format of trits.
template <class Format>
struct TritBlock : Format {
  static void Unpack(const std::uint8_t* block, std::uint8_t* codes) noexcept {
    UnpackStage<Format::kStages[0]>(block, codes);
    UnpackStage<Format::kStages[1]>(block, codes);
    UnpackStage<Format::kStages[2]>(block, codes);
  }
  static void Pack(const std::uint8_t* codes, std::uint8_t* block) noexcept {
    for (const Stage& stage : Format::kStages) {
      for (std::size_t m = 0; m < stage.num_bytes; ++m) {
        block[stage.first_byte + m] =
            PackTrits(codes + stage.first_weight + m, stage.digits, stage.num_bytes);
      }
    }
  }
};

struct Tq2_0 {
  static constexpr std::size_t kWeights = 256, kBytes = 66, kScaleAt = 64;
  static void Unpack(const std::uint8_t* block, std::uint8_t* codes) noexcept {
    for (std::size_t part = 0; part < 8; ++part) {  // 32 weights each
      const std::uint8_t* bytes = block + part / 4 * 32;
      for (std::size_t m = 0; m < 32; ++m) {
        codes[32 * part + m] = static_cast<std::uint8_t>(bytes[m] >> (part % 4 * 2) & 3);
      }
    }
  }
  static void Pack(const std::uint8_t* codes, std::uint8_t* block) noexcept {
    for (std::size_t i = 0; i < kScaleAt; ++i) {
      const std::uint8_t* c = codes + i / 32 * 128 + i % 32;
      block[i] = static_cast<std::uint8_t>(c[0] | c[32] << 2 | c[64] << 4 | c[96] << 6);
    }
  }
};

template <class Block>
std::size_t BlockBytes(std::size_t rows, std::size_t cols, const TlTiling&) {
  return rows * (cols / Block::kWeights) * Block::kBytes;
}

template <class Block>
void UnpackTqRows(const TernaryView& view, std::size_t first, std::size_t count,
                  std::uint8_t* codes, float* scales) noexcept {
  const std::size_t row_blocks = view.cols / Block::kWeights;
  const std::uint8_t* in = AsBytes(view.bytes.data()) + first * row_blocks * Block::kBytes;
  for (std::size_t b = 0; b < count * row_blocks; ++b, in += Block::kBytes) {
    Block::Unpack(in, codes + b * Block::kWeights);
    scales[b] = LoadHalf(in + Block::kScaleAt);
  }
}

template <class Block>
void PackAll(const TernaryValues& values, std::byte* out) noexcept {
  std::uint8_t* to = AsBytes(out);
  for (std::size_t b = 0; b < values.scales.size(); ++b, to += Block::kBytes) {
    Block::Pack(values.codes.data() + b * Block::kWeights, to);
    StoreHalf(values.scales[b], to + Block::kScaleAt);
  }
}

template <class Block>
TernaryCodec TqCodec(TernaryLayout layout, std::string_view name, WeightFormat format,
                     Result<void> (*check)(std::size_t, std::size_t, const TlTiling&)) {
  return {.layout = layout,
          .name = name,
          .format = format,
          .grain = ScaleGrain::kGroup,
          .group_cols = Block::kWeights,
          .stored_scale = ScaleAsHalf,
          .check = check,
          .bytes = BlockBytes<Block>,
          .unpack = UnpackTqRows<Block>,
          .pack = PackAll<Block>};
}

}  // namespace

TernaryCodec Tq1_0Codec() noexcept {
  return TqCodec<TritBlock<Tq1_0>>(TernaryLayout::kTq1_0, "tq1_0", WeightFormat::kTQ1_0,
                                   [](std::size_t rows, std::size_t cols, const TlTiling&) {
                                     return CheckMultiples("TQ1_0", rows, 1, cols, Tq1_0::kWeights);
                                   });
}
TernaryCodec Tq2_0Codec() noexcept {
  return TqCodec<Tq2_0>(TernaryLayout::kTq2_0, "tq2_0", WeightFormat::kTQ2_0,
                        [](std::size_t rows, std::size_t cols, const TlTiling&) {
                          return CheckMultiples("TQ2_0", rows, 1, cols, Tq2_0::kWeights);
                        });
}
TernaryCodec Ptq1_0Codec() noexcept {
  return TqCodec<TritBlock<Ptq1_0>>(TernaryLayout::kPtq1_0, "ptq1_0", WeightFormat::kPTQ1_0,
                                    [](std::size_t rows, std::size_t cols, const TlTiling&) {
                                      return CheckMultiples("PTQ1_0", rows, 1, cols,
                                                            Ptq1_0::kWeights);
                                    });
}

}  // namespace bittern::quant
