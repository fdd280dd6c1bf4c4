// SPDX-License-Identifier: Apache-2.0
#include "model/linear.hpp"

#include <algorithm>
#include <cstring>

#include "quant/tile16.hpp"

namespace bittern::model {
namespace {

using kernels::kGemmTiles;
using kernels::kPanelTokens;
using quant::kTileRows;

/// Scales `count` rows from `first` on, part by part: parts begin at whole tiles, and the rows
/// that pad a part's last tile are left alone.
void RescaleRows(const Context& context, const TernaryMatrix& matrix, std::size_t first,
                 std::size_t count, const std::int32_t* sums, float act_scale, float* out) {
  for (const TernaryMatrix::Part& part : matrix.parts) {
    const std::size_t begin = std::max(first, part.first_row);
    const std::size_t end = std::min(first + count, part.first_row + part.rows);
    if (begin >= end) continue;
    context.floats().rescale(sums + (begin - first), end - begin, act_scale, part.scale,
                             out + begin);
  }
}

/// One token: every thread streams its own contiguous range of tiles.
void Gemv(const Context& context, const TernaryMatrix& matrix, float* out) {
  const QuantizedActivations& acts = context.state.activations;
  const Range tiles = context.team.Share(matrix.num_tiles);
  std::int32_t* sums = context.scratch().sums.data();
  context.weights.kernels.tile16().gemv(
      matrix.tiles.data() + tiles.begin * quant::TileBytes(matrix.cols), tiles.end - tiles.begin,
      matrix.num_blocks, acts.values.data(), acts.sums[0], sums);
  RescaleRows(context, matrix, tiles.begin * kTileRows, (tiles.end - tiles.begin) * kTileRows, sums,
              acts.scales[0], out);
}

/// Many tokens: kGemmTiles tiles at a time against the whole batch.
void Gemm(const Context& context, const TernaryMatrix& matrix, float* out) {
  const QuantizedActivations& acts = context.state.activations;
  ThreadScratch& scratch = context.scratch();
  const std::size_t groups = (matrix.num_tiles + kGemmTiles - 1) / kGemmTiles;
  const Range range = context.team.Share(groups);
  for (std::size_t group = range.begin; group < range.end; ++group) {
    const std::size_t tile = group * kGemmTiles;
    const std::size_t count = std::min(kGemmTiles, matrix.num_tiles - tile);
    const std::size_t stride = count * kTileRows;
    context.weights.kernels.tile16().gemm(
        matrix.tiles.data() + tile * quant::TileBytes(matrix.cols), count, matrix.num_blocks,
        acts.values.data(), acts.sums.data(), context.num_tokens, scratch.sums.data(), stride,
        scratch.codes.data());
    for (std::size_t token = 0; token < context.num_tokens; ++token) {
      RescaleRows(context, matrix, tile * kTileRows, stride, scratch.sums.data() + token * stride,
                  acts.scales[token], out + token * matrix.padded_rows());
    }
  }
}

/// Deals a row's groups of four columns into its place in a panel of eight tokens.
void JoinPanel(const std::int8_t* row, std::size_t token, std::size_t padded_cols,
               std::int8_t* panels) {
  std::int8_t* to =
      panels + token / kPanelTokens * kPanelTokens * padded_cols + token % kPanelTokens * 4;
  for (std::size_t c = 0; c < padded_cols; c += 4) std::memcpy(to + c * kPanelTokens, row + c, 4);
}

}  // namespace

void QuantizeToken(const Context& context, std::size_t token, const float* x, std::size_t cols) {
  QuantizedActivations& acts = context.state.activations;
  const std::size_t padded_cols = quant::BlocksOfCols(cols) * quant::kTileBlock;
  const bool panels = context.num_tokens > 1;
  std::int8_t* row = panels ? context.scratch().row.data() : acts.values.data();
  acts.scales[token] = context.floats().quantize_absmax(x, cols, row, &acts.sums[token]);
  std::fill(row + cols, row + padded_cols, std::int8_t{0});
  if (panels) JoinPanel(row, token, padded_cols, acts.values.data());
}

void Linear(const Context& context, const TernaryMatrix& matrix, float* out) {
  if (context.num_tokens == 1) {
    Gemv(context, matrix, out);
  } else {
    Gemm(context, matrix, out);
  }
  context.team.Barrier();
}

}  // namespace bittern::model
