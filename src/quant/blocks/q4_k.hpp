// SPDX-License-Identifier: Apache-2.0
// Q4_K and Q5_K (GGUF types 12 and 13): embeddings in blocks of 256 weights, eight groups of 32,
// each with a 6-bit scale and a 6-bit offset. Layout: llama.cpp, ggml-common.h.
//
//   Q4_K, 144 bytes:  d (f16), e (f16), 12 bytes of scales and offsets, 128 bytes of nibbles
//   Q5_K, 176 bytes:  the same with 32 bytes of fifth bits before the nibbles
//
// Of the 12 bytes s, group g < 4 has scale s[g] & 63 and offset s[g + 4] & 63; group g >= 4 has
// scale (s[g + 4] & 15) | (s[g - 4] >> 6) << 4 and offset (s[g + 4] >> 4) | (s[g] >> 6) << 4.
// Nibble byte 32 c + i (c = 0..3) holds weight i of group 2 c (low) and of group 2 c + 1 (high);
// bit g of fifth-bit byte i belongs to weight i of group g.
//
//   weight = d * scale * q - e * offset
#pragma once

#include <cstddef>
#include <span>

namespace bittern::quant {

inline constexpr std::size_t kQ4_KBlock = 256;  ///< weights of a block, also of Q5_K
inline constexpr std::size_t kQ4_KBlockBytes = 144, kQ5_KBlockBytes = 176;

/// Decode out.size() weights, a multiple of 256. Products are exact in float, the difference rounds
/// once.
void DequantizeRowQ4_K(std::span<const std::byte> row, std::span<float> out) noexcept;
void DequantizeRowQ5_K(std::span<const std::byte> row, std::span<float> out) noexcept;

}  // namespace bittern::quant
