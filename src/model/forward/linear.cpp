// SPDX-License-Identifier: Apache-2.0
// A projection: int8 activations times ternary weights, exact in int32, then two float scales. One
// function for each way to hold the weights: tiles against a few tokens, lookup tables, scales by
// group, and gemm (gemm.cpp) for batches. All give the same sums, so the choice changes speed only.
// All threads of a team call it; each takes tiles of rows and writes those rows of `out` alone.
#include "model/forward/linear.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "kernels/registry.hpp"
#include "model/forward/gemm.hpp"
#include "quant/layouts/tile16.hpp"

namespace bittern::model {
namespace {

using kernels::kPanelTokens;
using quant::kTileRows;

/// Token `token`'s activations as a plain row of `size` values, 0 past the columns.
void CopyRow(const Context& context, std::size_t token, std::size_t padded_cols, std::size_t size,
             std::int8_t* row) {
  const std::int8_t* values = context.state.activations.values.data();
  std::fill(row + padded_cols, row + std::max(size, padded_cols), std::int8_t{0});
  if (context.few()) {
    std::memcpy(row, values + token * padded_cols, padded_cols);
    return;
  }
  const std::int8_t* from =
      values + token / kPanelTokens * kPanelTokens * padded_cols + token % kPanelTokens * 4;
  for (std::size_t c = 0; c < padded_cols; c += 4) std::memcpy(row + c, from + c * kPanelTokens, 4);
}

/// Lookup kernels: tables for a few tokens at a time, then every tile against them.
void GemvLut(const Context& context, const TernaryMatrix& matrix, float* out) {
  const quant::LutKind kind = LutKindOf(matrix.layout);
  const bool pairs = kind == quant::LutKind::kTl1;
  const kernels::LutOps& ops =
      pairs ? context.weights.kernels->tl1() : context.weights.kernels->tl2();
  const std::size_t steps = quant::LutSteps(kind, matrix.cols);
  const std::size_t table_bytes =
      steps * (pairs ? kernels::kTl1TableBytes : kernels::kTl2TableBytes);
  const std::size_t tile_bytes = quant::LutTileBytes(kind, matrix.cols);
  const std::size_t padded_cols = matrix.num_blocks * quant::kTileBlock;
  ThreadScratch& scratch = context.scratch();
  const Range tiles = context.team.Share(matrix.num_tiles);
  for (std::size_t first = 0; first < context.num_tokens; first += kLutTokens) {
    const std::size_t count = std::min(kLutTokens, context.num_tokens - first);
    for (std::size_t i = 0; i < count; ++i) {
      CopyRow(context, first + i, padded_cols, steps * quant::LutStepCols(kind),
              scratch.row.data());
      ops.build(scratch.row.data(), steps, scratch.tables.data() + i * table_bytes);
    }
    // One tile stays in cache for all of them; a single token takes its tiles in one go.
    const std::size_t at_once = count == 1 ? tiles.end - tiles.begin : 1;
    for (std::size_t tile = tiles.begin; tile < tiles.end; tile += at_once) {
      for (std::size_t i = 0; i < count; ++i) {
        ops.gemv(matrix.tiles.data() + tile * tile_bytes, at_once, steps,
                 scratch.tables.data() + i * table_bytes, scratch.sums.data());
        RescaleRows(context, matrix, Range{first + i, first + i + 1},
                    Range{tile * quant::kLutRows, (tile + at_once) * quant::kLutRows},
                    scratch.sums.data(), 0, out);
      }
    }
  }
}

/// Scales that differ along the row: tiles shared out, a few at a time against every token.
void GemvGrouped(const Context& context, const TernaryMatrix& matrix, float* out) {
  constexpr std::size_t kTilesAtOnce = 4;  // stay in cache for all tokens
  const QuantizedActivations& acts = context.state.activations;
  const std::size_t block_scales = matrix.scales_per_block * kTileRows;
  const std::size_t padded_cols = matrix.num_blocks * quant::kTileBlock;
  const bool panels = !context.few();
  const Range tiles = context.team.Share(matrix.num_tiles);
  for (std::size_t tile = tiles.begin; tile < tiles.end; tile += kTilesAtOnce) {
    for (std::size_t token = 0; token < context.num_tokens; ++token) {
      const std::size_t in_panel =
          token / kPanelTokens * kPanelTokens * padded_cols + token % kPanelTokens * 4;
      const kernels::GroupedArgs args{
          .tiles = matrix.tiles.data() + tile * quant::TileBytes(matrix.cols),
          .num_tiles = std::min(kTilesAtOnce, tiles.end - tile),
          .num_blocks = matrix.num_blocks,
          .weight_scales = matrix.group_scales.data() + tile * matrix.num_blocks * block_scales,
          .scales_per_block = matrix.scales_per_block,
          .act = acts.values.data() + (panels ? in_panel : token * padded_cols),
          .act_stride = panels ? 4 * kPanelTokens : 4,
          .act_sums = acts.group_sums.data() + token * acts.groups,
          .act_scales = acts.group_scales.data() + token * acts.groups,
          .out = out + token * matrix.padded_rows() + tile * kTileRows};
      context.weights.kernels->tile16().gemv_grouped(&args);
    }
  }
}

/// One scale for the whole token, as BitNet is trained; sums of groups where a matrix wants them.
/// Returns the scale; 0: x is not finite.
float QuantizeWhole(const Context& context, std::size_t token, const float* x, std::size_t cols,
                    std::int8_t* row) {
  QuantizedActivations& acts = context.state.activations;
  acts.scales[token] = context.floats().quantize_absmax(x, cols, row, &acts.sums[token]);
  for (std::size_t g = 0; g * kernels::kGroupCols < cols && acts.groups != 0; ++g) {
    const std::size_t begin = g * kernels::kGroupCols;
    const std::size_t end = std::min(begin + kernels::kGroupCols, cols);
    acts.group_sums[token * acts.groups + g] =
        std::accumulate(row + begin, row + end, std::int32_t{0});
    acts.group_scales[token * acts.groups + g] = 1.0f / acts.scales[token];
  }
  return acts.scales[token];
}

/// A scale for every group of 64 columns. Returns the least; 0: x is not finite.
float QuantizeGroups(const Context& context, std::size_t token, const float* x, std::size_t cols,
                     std::int8_t* row) {
  QuantizedActivations& acts = context.state.activations;
  float least = std::numeric_limits<float>::max();
  for (std::size_t g = 0; g * kernels::kGroupCols < cols; ++g) {
    const std::size_t begin = g * kernels::kGroupCols;
    const std::size_t count = std::min(kernels::kGroupCols, cols - begin);
    const float scale = context.floats().quantize_absmax(x + begin, count, row + begin,
                                                         &acts.group_sums[token * acts.groups + g]);
    acts.group_scales[token * acts.groups + g] = 1.0f / scale;
    least = std::min(least, scale);
  }
  return least;
}

/// A row of zeros, whose products are zeros.
void QuantizeToZeros(const Context& context, std::size_t token, std::size_t cols,
                     std::int8_t* row) {
  QuantizedActivations& acts = context.state.activations;
  std::fill_n(row, cols, std::int8_t{0});
  acts.scales[token] = 1;
  acts.sums[token] = 0;
  std::fill_n(acts.group_sums.data() + token * acts.groups, acts.groups, 0);
  std::fill_n(acts.group_scales.data() + token * acts.groups, acts.groups, 0.0f);
}

}  // namespace

const kernels::FloatOps& Context::floats() const noexcept { return weights.kernels->float32(); }

void JoinPanel(const std::int8_t* row, std::size_t token, std::size_t padded_cols,
               std::int8_t* panels) {
  std::int8_t* to =
      panels + token / kPanelTokens * kPanelTokens * padded_cols + token % kPanelTokens * 4;
  for (std::size_t c = 0; c < padded_cols; c += 4) std::memcpy(to + c * kPanelTokens, row + c, 4);
}

void RecordFailure(const Context& context, std::size_t token, const RowFailure& failure) {
  auto& first = context.state.failures[token];
  if (!first) first = failure;
}

void QuantizeRow(const Context& context, std::size_t token, const float* x, std::size_t cols,
                 const ProjectionInput& input, std::int8_t* row) {
  QuantizedActivations& acts = context.state.activations;
  const std::size_t padded_cols = quant::BlocksOfCols(cols) * quant::kTileBlock;
  const bool groups = context.config.traits->grouped_activations && acts.groups != 0;
  const float scale = (groups ? QuantizeGroups : QuantizeWhole)(context, token, x, cols, row);
  if (scale < input.limit) {
    RecordFailure(context, token, scale == 0 ? input.from : input.to);
    QuantizeToZeros(context, token, cols, row);
  }
  std::fill(row + cols, row + padded_cols, std::int8_t{0});
  if (acts.groups != 0) {  // the last block's second group may lie past the columns
    const std::size_t used = (cols + kernels::kGroupCols - 1) / kernels::kGroupCols;
    for (std::size_t g = used; g < padded_cols / kernels::kGroupCols; ++g) {
      acts.group_sums[token * acts.groups + g] = 0;
      acts.group_scales[token * acts.groups + g] = 0;
    }
  }
}

void QuantizeToken(const Context& context, std::size_t token, const float* x, std::size_t cols,
                   const ProjectionInput& input) {
  QuantizedActivations& acts = context.state.activations;
  const std::size_t padded_cols = quant::BlocksOfCols(cols) * quant::kTileBlock;
  if (context.few()) {
    return QuantizeRow(context, token, x, cols, input, acts.values.data() + token * padded_cols);
  }
  std::int8_t* row =
      acts.has_rows() ? acts.rows.data() + token * padded_cols : context.scratch().row.data();
  QuantizeRow(context, token, x, cols, input, row);
  JoinPanel(row, token, padded_cols, acts.values.data());
}

void RescaleRows(const Context& context, const TernaryMatrix& matrix, Range tokens, Range rows,
                 const std::int32_t* sums, std::size_t sums_stride, float* out) {
  const std::size_t stride = matrix.padded_rows();
  for (const TernaryMatrix::Part& part : matrix.parts) {
    const std::size_t begin = std::max(rows.begin, part.first_row);
    const std::size_t end = std::min(rows.end, part.first_row + part.rows);
    if (begin >= end) continue;
    const float* row_scales =
        part.row_scales.empty() ? nullptr : part.row_scales.data() + (begin - part.first_row);
    const kernels::RescaleArgs args{
        .sums = sums + (begin - rows.begin),
        .sums_stride = sums_stride,
        .num_rows = end - begin,
        .num_tokens = tokens.end - tokens.begin,
        .act_scales = context.state.activations.scales.data() + tokens.begin,
        .weight_scale = part.scale,
        .row_scales = row_scales,
        .out = out + tokens.begin * stride + begin,
        .out_stride = stride};
    context.floats().rescale(&args);
  }
}

namespace {

/// sums[token * count * TileRows + r] = tiles of a matrix times every token's activations.
void SumTiles(const Context& context, const TernaryMatrix& matrix, Range tiles,
              std::int32_t* sums) {
  const QuantizedActivations& acts = context.state.activations;
  const kernels::Kernels& kernels = *context.weights.kernels;
  const std::size_t act_stride = matrix.num_blocks * quant::kTileBlock;
  const std::size_t rows = TileRows(matrix.layout), count = tiles.end - tiles.begin;
  const std::size_t bytes = TileBytes(matrix.layout, matrix.cols);
  const std::uint8_t* first = matrix.tiles.data() + tiles.begin * bytes;
  if (matrix.layout == MatrixLayout::kTile48) {
    const kernels::Tile48Args args{.tiles = first,
                                   .num_tiles = count,
                                   .num_blocks = matrix.num_blocks,
                                   .acts = acts.values.data(),
                                   .act_stride = act_stride,
                                   .num_tokens = context.num_tokens,
                                   .act_sums = acts.sums.data(),
                                   .out = sums,
                                   .out_stride = count * rows};
    return kernels.tile48().gemv(&args);
  }
  // One tile stays in cache for all tokens; a single token takes its tiles in one go.
  const std::size_t at_once = context.num_tokens == 1 ? count : 1;
  for (std::size_t t = 0; t < count; t += at_once) {
    for (std::size_t token = 0; token < context.num_tokens; ++token) {
      kernels.tile16().gemv(first + t * bytes, at_once, matrix.num_blocks,
                            acts.values.data() + token * act_stride, acts.sums[token],
                            sums + (token * count + t) * rows);
    }
  }
}

}  // namespace

std::size_t TilesAtOnce(const TernaryMatrix& matrix) noexcept {
  constexpr std::size_t kBytes = std::size_t{64} << 10;  // some microseconds
  return std::max<std::size_t>(1, kBytes / TileBytes(matrix.layout, matrix.cols));
}

void LinearTiles(const Context& context, const TernaryMatrix& matrix, Range tiles, float* out) {
  const std::size_t rows = TileRows(matrix.layout);
  std::int32_t* sums = context.scratch().sums.data();
  SumTiles(context, matrix, tiles, sums);
  RescaleRows(context, matrix, Range{0, context.num_tokens},
              Range{tiles.begin * rows, tiles.end * rows}, sums, (tiles.end - tiles.begin) * rows,
              out);
}

void Linear(const Context& context, const TernaryMatrix& matrix, float* out) {
  if (matrix.grouped()) {
    GemvGrouped(context, matrix, out);
  } else if (IsLut(matrix.layout)) {
    GemvLut(context, matrix, out);
  } else if (context.few() && IsTiled(matrix.layout)) {
    context.team.Deal(matrix.num_tiles, TilesAtOnce(matrix),
                      [&](Range tiles) { LinearTiles(context, matrix, tiles, out); });
  } else {
    Gemm(context, matrix, out);
  }
}

}  // namespace bittern::model
