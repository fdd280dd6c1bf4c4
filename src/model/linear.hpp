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
/// Matrices of any layout; of kRows and kColumns only batches (sparse_ffn.hpp has the rest).
/// Ends with a barrier.
void Linear(const Context& context, const TernaryMatrix& matrix, float* out);

/// A few tokens, rows of the given tiles of a matrix of layout kTile16 or kTile48. out:
/// (num_tokens, padded rows). No barrier.
void LinearTiles(const Context& context, const TernaryMatrix& matrix, Range tiles, float* out);

/// float(sum) / activation scale * weight scale of rows [first, first + count), sums[0] being the
/// first row's; rows that pad a part are left alone.
void RescaleRows(const Context& context, const TernaryMatrix& matrix, std::size_t first,
                 std::size_t count, const std::int32_t* sums, float act_scale, float* out);

}  // namespace bittern::model
