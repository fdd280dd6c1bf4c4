// SPDX-License-Identifier: Apache-2.0
// Q6_K (GGUF type 14): embeddings at 6.5625 bits a weight. Layout: llama.cpp, ggml-common.h.
//
// A row of n weights is n / 256 blocks of 210 bytes:
//
//   byte   0 .. 127   low[128]    the low 4 bits of every code
//   byte 128 .. 191   high[64]    the high 2 bits
//   byte 192 .. 207   scale[16]   int8, one for 16 weights
//   byte 208 .. 209   d           f16, one for the block
//
// A block is two halves of 128 weights (low + 64, high + 32, scale + 8 for the second). In a
// half, weight 32 * k + l (k 0..3, l 0..31) has
//
//   k   low 4 bits            high 2 bits            scale
//   0   low[l]       bits 3-0  high[l]  bits 1-0     scale[l / 16]
//   1   low[32 + l]  bits 3-0  high[l]  bits 3-2     scale[l / 16 + 2]
//   2   low[l]       bits 7-4  high[l]  bits 5-4     scale[l / 16 + 4]
//   3   low[32 + l]  bits 7-4  high[l]  bits 7-6     scale[l / 16 + 6]
//
//   weight = d * scale * (code - 32)
#pragma once

#include <cstddef>
#include <span>

namespace bittern::quant {

inline constexpr std::size_t kQ6_KBlock = 256;       ///< weights of a block
inline constexpr std::size_t kQ6_KBlockBytes = 210;  ///< bytes of a block

/// Decodes out.size() weights, a multiple of 256; row: out.size() / 256 * 210 bytes. Computed as
/// (d * scale) * (code - 32) in float: the first product is exact (11 + 8 bits), so each weight
/// is the true product rounded once. A NaN or infinite d gives what IEEE 754 says.
void DequantizeRowQ6_K(std::span<const std::byte> row, std::span<float> out) noexcept;

}  // namespace bittern::quant
