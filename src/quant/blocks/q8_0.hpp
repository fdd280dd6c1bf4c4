// SPDX-License-Identifier: Apache-2.0
// Q8_0 (GGUF type 8): embeddings at 8.5 bits a weight. Layout: llama.cpp, ggml-common.h.
//
// A row of n weights is n / 32 blocks of 34 bytes:
//
//   byte   0    1  |  2      3      ...  33
//          d (f16) |  q[0]   q[1]   ...  q[31]      q: int8
//
//   weight i = d * q[i]
#pragma once

#include <cstddef>
#include <span>

namespace bittern::quant {

inline constexpr std::size_t kQ8_0Block = 32;       ///< weights of a block
inline constexpr std::size_t kQ8_0BlockBytes = 34;  ///< bytes of a block

/// Decodes out.size() weights, a multiple of 32; row: out.size() / 32 * 34 bytes. Every product
/// is exact in float (11 + 8 significant bits). A NaN or infinite d gives what IEEE 754 says.
void DequantizeRowQ8_0(std::span<const std::byte> row, std::span<float> out) noexcept;

}  // namespace bittern::quant
