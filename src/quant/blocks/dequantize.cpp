// SPDX-License-Identifier: Apache-2.0
// The table behind DequantizeRowFor, and the three formats that are plain numbers.
#include "quant/blocks/dequantize.hpp"

#include <cstdint>
#include <cstring>
#include <span>

#include "base/float16.hpp"
#include "quant/blocks/iq4_nl.hpp"
#include "quant/blocks/q4_0.hpp"
#include "quant/blocks/q4_k.hpp"
#include "quant/blocks/q4_q5.hpp"
#include "quant/blocks/q6_k.hpp"
#include "quant/blocks/q8_0.hpp"
#include "quant/ternary_codec.hpp"

namespace bittern::quant {
namespace {

void DecodeF32(const std::byte* row, std::size_t n, float* out) noexcept {
  std::memcpy(out, row, n * sizeof(float));
}

/// Binary16 or bfloat16, by the function that widens one.
template <float (*Widen)(std::uint16_t) noexcept>
void Decode16(const std::byte* row, std::size_t n, float* out) noexcept {
  for (std::size_t i = 0; i < n; ++i) {
    std::uint16_t bits;
    std::memcpy(&bits, row + i * sizeof bits, sizeof bits);
    out[i] = Widen(bits);
  }
}

/// Gives a decoder over spans the signature of the table.
template <void (*Decode)(std::span<const std::byte>, std::span<float>) noexcept, std::size_t block,
          std::size_t block_bytes>
void DecodeBlocks(const std::byte* row, std::size_t n, float* out) noexcept {
  Decode({row, n / block * block_bytes}, {out, n});
}

/// Ternary formats whose blocks stand alone: a weight is (code - 1) * the block's scale.
template <TernaryLayout layout, std::size_t block, std::size_t block_bytes>
void DecodeTernary(const std::byte* row, std::size_t n, float* out) noexcept {
  const TernaryCodec& codec = CodecOf(layout);
  for (std::size_t at = 0; at < n; at += block, row += block_bytes) {
    std::uint8_t codes[block];
    float scale;
    codec.unpack({.bytes = {row, block_bytes}, .rows = 1, .cols = block}, 0, 1, codes, &scale);
    for (std::size_t i = 0; i < block; ++i) out[at + i] = static_cast<float>(codes[i] - 1) * scale;
  }
}

}  // namespace

/// The one list of formats that can be read row by row; null for others, such as those whose scale
/// is at the end of the tensor.
DequantizeRowFn DequantizeRowFor(WeightFormat format) noexcept {
  switch (format) {
    case WeightFormat::kF32:
      return DecodeF32;
    case WeightFormat::kF16:
      return Decode16<HalfToFloat>;
    case WeightFormat::kBF16:
      return Decode16<BfloatToFloat>;
    case WeightFormat::kQ8_0:
      return DecodeBlocks<DequantizeRowQ8_0, kQ8_0Block, kQ8_0BlockBytes>;
    case WeightFormat::kQ6_K:
      return DecodeBlocks<DequantizeRowQ6_K, kQ6_KBlock, kQ6_KBlockBytes>;
    case WeightFormat::kQ4_0:
      return DecodeBlocks<DequantizeRowQ4_0, kQ4_0Block, kQ4_0BlockBytes>;
    case WeightFormat::kQ4_1:
      return DecodeBlocks<DequantizeRowQ4_1, kQ4_0Block, kQ4_1BlockBytes>;
    case WeightFormat::kQ5_0:
      return DecodeBlocks<DequantizeRowQ5_0, kQ4_0Block, kQ5_0BlockBytes>;
    case WeightFormat::kQ5_1:
      return DecodeBlocks<DequantizeRowQ5_1, kQ4_0Block, kQ5_1BlockBytes>;
    case WeightFormat::kQ4_K:
      return DecodeBlocks<DequantizeRowQ4_K, kQ4_KBlock, kQ4_KBlockBytes>;
    case WeightFormat::kQ5_K:
      return DecodeBlocks<DequantizeRowQ5_K, kQ4_KBlock, kQ5_KBlockBytes>;
    case WeightFormat::kIQ4_NL:
      return DecodeBlocks<DequantizeRowIQ4_NL, kIQ4_NLBlock, kIQ4_NLBlockBytes>;
    case WeightFormat::kTQ1_0:
      return DecodeTernary<TernaryLayout::kTq1_0, 256, 54>;
    case WeightFormat::kTQ2_0:
      return DecodeTernary<TernaryLayout::kTq2_0, 256, 66>;
    case WeightFormat::kQ2_0:
      return DecodeTernary<TernaryLayout::kQ2_0, 64, 18>;
    case WeightFormat::kPQ2_0:
      return DecodeTernary<TernaryLayout::kPq2_0, 128, 34>;
    case WeightFormat::kPTQ1_0:
      return DecodeTernary<TernaryLayout::kPtq1_0, 128, 28>;
    case WeightFormat::kQ1_0:
      return DecodeTernary<TernaryLayout::kQ1_0, 128, 18>;
    case WeightFormat::kSTQ1_0:
      return DecodeTernary<TernaryLayout::kStq1_0, 256, 42>;
    default:
      return nullptr;
  }
}

}  // namespace bittern::quant
