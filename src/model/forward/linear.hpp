// SPDX-License-Identifier: Apache-2.0
// BitLinear: int8 activations times ternary weights, exact in int32, then two float scales.
// (BitNet b1.58, arXiv:2402.17764, sec. 2; formats of activations and weights: kernels/kernel.h)
#pragma once

#include "model/forward/context.hpp"
#include "model/row_failure.hpp"

namespace bittern::model {

/// An input of a projection: where its values come from, and what they go into.
struct ProjectionInput {
  RowFailure from, to;
  float limit;  ///< the least scale that it may be quantised with (TernaryMatrix::act_limit)
};

/// Keeps where the values of a token were first not finite. One thread a token at a time.
void RecordFailure(const Context& context, std::size_t token, const RowFailure& failure);

/// Quantises row `token` of a batch (cols floats at x) into state.activations: to zeros, and on
/// record, where x is not finite or a product of `input`'s projection might not be. Any thread may
/// take any token; a barrier must follow before Linear.
void QuantizeToken(const Context& context, std::size_t token, const float* x, std::size_t cols,
                   const ProjectionInput& input);

/// The two steps of that for batches: a row of `cols` values and its scale, zeros up to whole
/// blocks; then its groups of four columns dealt into their place in a panel of eight tokens.
void QuantizeRow(const Context& context, std::size_t token, const float* x, std::size_t cols,
                 const ProjectionInput& input, std::int8_t* row);
void JoinPanel(const std::int8_t* row, std::size_t token, std::size_t padded_cols,
               std::int8_t* panels);

/// out[token * matrix.padded_rows() + row] = (weights times activations) for the whole batch:
/// float(sum) / activation scale * weight scale, in that order. The team shares the rows.
/// Matrices of any layout; of kRows and kColumns only batches (sparse_up.hpp, sparse_down.hpp have
/// the rest). No barrier at the end.
void Linear(const Context& context, const TernaryMatrix& matrix, float* out);

/// Tiles of a matrix that are dealt out at a time.
[[nodiscard]] std::size_t TilesAtOnce(const TernaryMatrix& matrix) noexcept;

/// A few tokens, rows of the given tiles of a matrix of layout kTile16 or kTile48. out:
/// (num_tokens, padded rows). No barrier.
void LinearTiles(const Context& context, const TernaryMatrix& matrix, Range tiles, float* out);

/// out[token * matrix.padded_rows() + row] = float(sum) / activation scale * weight scale for some
/// tokens and rows of a matrix. sums: (tokens, rows), sums_stride apart, from the first of each.
/// Rows that pad a part are left alone.
void RescaleRows(const Context& context, const TernaryMatrix& matrix, Range tokens, Range rows,
                 const std::int32_t* sums, std::size_t sums_stride, float* out);

}  // namespace bittern::model
