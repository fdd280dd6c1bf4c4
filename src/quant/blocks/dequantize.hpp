// SPDX-License-Identifier: Apache-2.0
// One decoder per weight format that stores rows independently of each other. For embedding rows
// and for oracles in tests; matrix products have kernels that never widen a whole row.
#pragma once

#include <cstddef>

#include "quant/weight_format.hpp"

namespace bittern::quant {

/// Decodes a row of n weights (a multiple of the format's block) from its bytes.
using DequantizeRowFn = void (*)(const std::byte* row, std::size_t n, float* out) noexcept;

/// The decoder of F32, F16, BF16, Q8_0, Q6_K, Q4_0, IQ4_NL and the ternary formats of blocks;
/// nullptr for formats whose blocks need something from elsewhere (I2_S: the tensor's scale).
[[nodiscard]] DequantizeRowFn DequantizeRowFor(WeightFormat format) noexcept;

}  // namespace bittern::quant
