// SPDX-License-Identifier: Apache-2.0
// The inverse of dequantize.hpp: one encoder per format that embeddings may be stored in. Ternary
// weights are never quantised here: their codes and scales are carried (ternary_codec.hpp).
#pragma once

#include <cstddef>

#include "quant/weight_format.hpp"

namespace bittern::quant {

/// Encodes a row of n finite weights, a multiple of the format's block. row: all its bytes.
using QuantizeRowFn = void (*)(const float* in, std::size_t n, std::byte* row) noexcept;

/// The encoder of F32, F16, BF16 (both round to nearest even), Q8_0 or Q6_K; nullptr for others.
[[nodiscard]] QuantizeRowFn QuantizeRowFor(WeightFormat format) noexcept;

/// Q8_0: d = largest magnitude / 127, codes round(x / d), d stored as binary16; the same bytes as
/// llama.cpp's reference. in: a multiple of 32 weights.
void QuantizeRowQ8_0(const float* in, std::size_t n, std::byte* row) noexcept;

/// Q6_K: for every 16 weights the scale that minimises the squared error weighted by x^2, among
/// a few around the largest magnitude; then codes for the scales as stored. n: a multiple of 256.
void QuantizeRowQ6_K(const float* in, std::size_t n, std::byte* row) noexcept;

}  // namespace bittern::quant
