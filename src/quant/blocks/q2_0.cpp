// SPDX-License-Identifier: Apache-2.0
// Blocks that begin with their scale d (binary16) and hold weights in order, low bits first:
//
//   Q2_0    type 42 of mainline llama.cpp   18 bytes for  64 weights, two bits each
//   PQ2_0   type 142, and type 42 of older  34 bytes for 128 weights, two bits each
//           PrismML files
//   Q1_0    type 41                         18 bytes for 128 weights, one bit each: 1 is d, 0 is -d
//
// weight = (code - 1) * d. Code 3 would be 2 d: no ternary model has it, and it is refused.
// Sources: llama.cpp, ggml-common.h and ggml-quants.c; its fork by PrismML.
#include <array>
#include <cstdint>
#include <cstring>

#include "quant/codec_bytes.hpp"
#include "quant/codec_list.hpp"

namespace bittern::quant {
namespace {

/// The four codes of every byte, low bits first.
using FourCodes = std::array<std::array<std::uint8_t, 4>, 256>;

constexpr FourCodes MakeFourCodes() noexcept {
  FourCodes table = {};
  for (unsigned byte = 0; byte < 256; ++byte) {
    for (unsigned n = 0; n < 4; ++n) {
      table[byte][n] = static_cast<std::uint8_t>(byte >> (2 * n) & 3);
    }
  }
  return table;
}
constexpr FourCodes kFourCodes = MakeFourCodes();

template <std::size_t kGroup>
struct TwoBits {
  static constexpr std::size_t kWeights = kGroup, kBytes = 2 + kGroup / 4;
  static void Unpack(const std::uint8_t* bits, std::uint8_t* codes) noexcept {
    for (std::size_t i = 0; i < kGroup / 4; ++i) {
      std::memcpy(codes + 4 * i, kFourCodes[bits[i]].data(), 4);
    }
  }
  static void Pack(const std::uint8_t* codes, std::uint8_t* bits) noexcept {
    for (std::size_t i = 0; i < kGroup / 4; ++i) {
      const std::uint8_t* c = codes + 4 * i;
      bits[i] = static_cast<std::uint8_t>(c[0] | c[1] << 2 | c[2] << 4 | c[3] << 6);
    }
  }
};

struct OneBit {
  static constexpr std::size_t kWeights = 128, kBytes = 2 + kWeights / 8;
  static void Unpack(const std::uint8_t* bits, std::uint8_t* codes) noexcept {
    for (std::size_t j = 0; j < kWeights; ++j) {
      codes[j] = static_cast<std::uint8_t>((bits[j / 8] >> (j % 8) & 1) * 2);
    }
  }
  /// Codes are 0 or 2; CheckNoZeros refuses others.
  static void Pack(const std::uint8_t* codes, std::uint8_t* bits) noexcept {
    for (std::size_t i = 0; i < kWeights / 8; ++i) {
      unsigned byte = 0;
      for (std::size_t n = 0; n < 8; ++n) byte |= (codes[8 * i + n] / 2u) << n;
      bits[i] = static_cast<std::uint8_t>(byte);
    }
  }
};

template <class Block>
TernaryCodec Codec(TernaryLayout layout, std::string_view name, WeightFormat format,
                   Result<void> (*check)(std::size_t, std::size_t, const TlTiling&)) {
  const auto bytes = [](std::size_t rows, std::size_t cols, const TlTiling&) {
    return rows * (cols / Block::kWeights) * Block::kBytes;
  };
  const auto unpack = [](const TernaryView& view, std::size_t first, std::size_t count,
                         std::uint8_t* codes, float* scales) noexcept {
    const std::size_t row_blocks = view.cols / Block::kWeights;
    const std::uint8_t* in = AsBytes(view.bytes.data()) + first * row_blocks * Block::kBytes;
    for (std::size_t b = 0; b < count * row_blocks; ++b, in += Block::kBytes) {
      scales[b] = LoadHalf(in);
      Block::Unpack(in + 2, codes + b * Block::kWeights);
    }
  };
  const auto pack = [](const TernaryValues& values, std::byte* out) noexcept {
    std::uint8_t* to = AsBytes(out);
    for (std::size_t b = 0; b < values.scales.size(); ++b, to += Block::kBytes) {
      StoreHalf(values.scales[b], to);
      Block::Pack(values.codes.data() + b * Block::kWeights, to + 2);
    }
  };
  return {.layout = layout,
          .name = name,
          .format = format,
          .grain = ScaleGrain::kGroup,
          .group_cols = Block::kWeights,
          .stored_scale = ScaleAsHalf,
          .check = check,
          .bytes = bytes,
          .unpack = unpack,
          .pack = pack};
}

Result<void> CheckNoZeros(std::span<const std::uint8_t> codes) {
  if (std::memchr(codes.data(), kZeroCode, codes.size()) == nullptr) return {};
  return Fail(ErrorCode::kUnsupported, "q1_0 has no weight 0, and the tensor has some");
}

}  // namespace

TernaryCodec Q2_0Codec() noexcept {
  return Codec<TwoBits<64>>(TernaryLayout::kQ2_0, "q2_0", WeightFormat::kQ2_0,
                            [](std::size_t rows, std::size_t cols, const TlTiling&) {
                              return CheckMultiples("Q2_0", rows, 1, cols, 64);
                            });
}
TernaryCodec Pq2_0Codec() noexcept {
  return Codec<TwoBits<128>>(TernaryLayout::kPq2_0, "pq2_0", WeightFormat::kPQ2_0,
                             [](std::size_t rows, std::size_t cols, const TlTiling&) {
                               return CheckMultiples("PQ2_0", rows, 1, cols, 128);
                             });
}
TernaryCodec Q1_0Codec() noexcept {
  TernaryCodec codec = Codec<OneBit>(TernaryLayout::kQ1_0, "q1_0", WeightFormat::kQ1_0,
                                     [](std::size_t rows, std::size_t cols, const TlTiling&) {
                                       return CheckMultiples("Q1_0", rows, 1, cols, 128);
                                     });
  codec.check_codes = CheckNoZeros;
  return codec;
}

}  // namespace bittern::quant
