// SPDX-License-Identifier: Apache-2.0
// Q4_1, Q5_0 and Q5_1 (GGUF types 3, 6, 7): embeddings in blocks of 32 weights with a scale d and,
// in the _1 formats, an offset m. Layout: llama.cpp, ggml-common.h.
//
//   Q4_1, 20 bytes:  d (f16), m (f16), 16 bytes of nibbles
//   Q5_0, 22 bytes:  d (f16), 32 fifth bits, 16 bytes of nibbles
//   Q5_1, 24 bytes:  d (f16), m (f16), 32 fifth bits, 16 bytes of nibbles
//
// Nibble byte i holds weight i (low) and weight 16 + i (high); fifth bit i, from the lowest of a
// little-endian word, belongs to weight i.
//
//   Q4_1, Q5_1: weight = d * q + m        Q5_0: weight = d * (q - 16)
#pragma once

#include <cstddef>
#include <span>

namespace bittern::quant {

inline constexpr std::size_t kQ4_1BlockBytes = 20, kQ5_0BlockBytes = 22, kQ5_1BlockBytes = 24;

/// Decode out.size() weights, a multiple of 32. Products are exact in float, the sum rounds once.
void DequantizeRowQ4_1(std::span<const std::byte> row, std::span<float> out) noexcept;
void DequantizeRowQ5_0(std::span<const std::byte> row, std::span<float> out) noexcept;
void DequantizeRowQ5_1(std::span<const std::byte> row, std::span<float> out) noexcept;

}  // namespace bittern::quant
