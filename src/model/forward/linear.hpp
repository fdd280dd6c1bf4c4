// SPDX-License-Identifier: Apache-2.0
// BitLinear: int8 activations times ternary weights, exact in int32, then two float scales.
// (BitNet b1.58, arXiv:2402.17764, sec. 2; formats of activations and weights: kernels/kernel.h)
#pragma once

#include <span>

#include "kernels/kernel.h"
#include "model/forward/context.hpp"
#include "model/row_failure.hpp"

namespace bittern::model {

/// An input of a projection: where its values come from, and what they go into.
struct ProjectionInput {
  RowFailure from, to;
  float limit;  ///< the least scale that it may be quantised with (TernaryMatrix::act_limit)
  bool delta_values = false;  ///< the values that a delta layer's heads give
};

/// Keeps where the values of a token were first not finite. One thread a token at a time.
void RecordFailure(const Context& context, std::size_t token, const RowFailure& failure);

/// The floats that the weights of a projection of `cols` inputs were made for: x, or x rotated as
/// they are (hadamard_rotation.hpp), in the thread's scratch until its next call.
const float* RotateInput(const Context& context, const float* x, std::size_t cols,
                         bool delta_values);

/// Quantises the out.cols floats at x, rotated where weights are, into row `token` of `out`: to
/// zeros, and on record for out.token(token), where x is not finite or a product of `input`'s
/// projection might not be. Any thread may take any row; a barrier must follow before `out` is
/// read.
void QuantizeToken(const Context& context, std::size_t token, const float* x,
                   const ProjectionInput& input, const QuantizedRows& out);

/// The two steps of that for batches: the plain row, which is returned, its scales and sums, zeros
/// up to whole blocks; then its groups of four columns dealt into their place in a panel of eight
/// tokens.
std::int8_t* QuantizeRow(const Context& context, std::size_t token, const float* x,
                         const ProjectionInput& input, const QuantizedRows& out);
void JoinPanel(const std::int8_t* row, std::size_t token, const QuantizedRows& out);

/// Tokens times a matrix of as many columns as they have values: out.row(token)[r] = float(sum) /
/// activation scale * weight scale, in that order, for r below matrix.padded_rows().
struct MatrixProduct {
  const Context& context;
  const QuantizedRows& in;
  const TernaryMatrix& matrix;
  FloatRows out;
};

/// All of a product, of a matrix of any layout; of kRows and kColumns only batches (sparse_up.hpp,
/// sparse_down.hpp have the rest). The team shares the matrix's rows. No barrier at the end.
void Linear(const Context& context, const QuantizedRows& in, const TernaryMatrix& matrix,
            FloatRows out);

/// The scales of some tiles (up to kMostGroupedTiles) of a grouped matrix; those of binary16 are
/// widened first, into the thread's scratch until its next call.
const float* GroupScalesOf(const Context& context, const TernaryMatrix& matrix, Range tiles);

/// Some tiles of a grouped matrix, and GroupScalesOf them.
struct TilesOfMatrix {
  const Context& context;
  const TernaryMatrix& matrix;
  Range tiles;
  const float* scales;
};

/// Tokens that meet tiles of a grouped matrix, with all their digits. Of one thread; there is one
/// at a time.
class GroupedTokens {
 public:
  GroupedTokens(const Context& context, const QuantizedRows& in) noexcept
      : context_(context), in_(in) {}

  /// A token from a column on (a multiple of 128), and where its product goes: [16 tiles].
  void Add(std::size_t token, std::size_t first_col, float* out) noexcept;
  /// Their products with up to kGroupedTiles tiles. No barrier.
  void Multiply(const TilesOfMatrix& of) const;
  /// The same with up to kMostGroupedTiles, of most tokens by tables (gemm.hpp: TokensByTables).
  void LookUp(const TilesOfMatrix& of) const;

 private:
  const Context& context_;
  const QuantizedRows& in_;
  std::size_t num_tokens_ = 0;
};

/// Tiles of a matrix that are dealt out at a time.
[[nodiscard]] std::size_t TilesAtOnce(const TernaryMatrix& matrix) noexcept;

/// The given tiles of a product of a few tokens with a matrix of layout kTile16 or kTile48. No
/// barrier.
void LinearTiles(const MatrixProduct& product, Range tiles);

/// The product's output from its sums, for some tokens and rows of the matrix. sums: (tokens,
/// rows), sums_stride apart, from the first of each. Rows that pad a part are left alone.
void RescaleRows(const MatrixProduct& product, Range tokens, Range rows, const std::int32_t* sums,
                 std::size_t sums_stride);

}  // namespace bittern::model
