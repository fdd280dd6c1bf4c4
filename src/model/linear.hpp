// SPDX-License-Identifier: Apache-2.0
// BitLinear: int8 activations times ternary weights, exact in int32, then two float scales.
// (BitNet b1.58, arXiv:2402.17764, sec. 2; formats of activations and weights: kernels/kernel.h)
#pragma once

#include "model/context.hpp"

namespace bittern::model {

/// Quantises row `token` of a batch (cols floats at x) into state.activations. Any thread may
/// take any token; a barrier must follow before Linear.
void QuantizeToken(const Context& context, std::size_t token, const float* x, std::size_t cols);

/// out[token * matrix.padded_rows() + row] = (weights times activations) for the whole batch:
/// float(sum) / activation scale * weight scale, in that order. The team shares the rows.
/// Ends with a barrier.
void Linear(const Context& context, const TernaryMatrix& matrix, float* out);

}  // namespace bittern::model
