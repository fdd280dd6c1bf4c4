// SPDX-License-Identifier: Apache-2.0
// IQ4_NL (GGUF type 20): embeddings at 4.5 bits a weight whose steps are uneven, finer near zero.
// ik_llama.cpp's quantiser gives it to the embedding of ternary models with a head of their own.
// Layout: llama.cpp, ggml-common.h.
//
// A row of n weights is n / 32 blocks of 18 bytes:
//
//   byte   0    1  |        2             3       ...       17
//          d (f16) |  q[16] | q[0]  q[17] | q[1]  ...  q[31] | q[15]     high nibble | low nibble
//
//   weight i = d * level[q[i]], 16 levels from -127 to 113
#pragma once

#include <cstddef>
#include <span>

namespace bittern::quant {

inline constexpr std::size_t kIQ4_NLBlock = 32;       ///< weights of a block
inline constexpr std::size_t kIQ4_NLBlockBytes = 18;  ///< bytes of a block

/// Decodes out.size() weights, a multiple of 32; row: out.size() / 32 * 18 bytes. Every product
/// is exact in float (11 + 7 significant bits). A NaN or infinite d gives what IEEE 754 says.
void DequantizeRowIQ4_NL(std::span<const std::byte> row, std::span<float> out) noexcept;

}  // namespace bittern::quant
