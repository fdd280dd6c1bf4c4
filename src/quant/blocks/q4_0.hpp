// SPDX-License-Identifier: Apache-2.0
// Q4_0 (GGUF type 2): embeddings at 4.5 bits a weight. Layout: llama.cpp, ggml-common.h.
//
// A row of n weights is n / 32 blocks of 18 bytes:
//
//   byte   0    1  |        2             3       ...       17
//          d (f16) |  q[16] | q[0]  q[17] | q[1]  ...  q[31] | q[15]     high nibble | low nibble
//
//   weight i = d * (q[i] - 8)
#pragma once

#include <cstddef>
#include <span>

namespace bittern::quant {

inline constexpr std::size_t kQ4_0Block = 32;       ///< weights of a block
inline constexpr std::size_t kQ4_0BlockBytes = 18;  ///< bytes of a block

/// Decodes out.size() weights, a multiple of 32; row: out.size() / 32 * 18 bytes. Every product
/// is exact in float (11 + 4 significant bits). A NaN or infinite d gives what IEEE 754 says.
void DequantizeRowQ4_0(std::span<const std::byte> row, std::span<float> out) noexcept;

}  // namespace bittern::quant
