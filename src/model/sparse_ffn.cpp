// SPDX-License-Identifier: Apache-2.0
#include "model/sparse_ffn.hpp"

#include <algorithm>

#include "model/context.hpp"
#include "model/linear.hpp"
#include "model/trace_step.hpp"
#include "quant/tile16.hpp"

namespace bittern::model {
namespace {

using quant::kTileRows;

const LayerWeights& LayerOf(const Context& context, int layer) {
  return context.weights.layers[static_cast<std::size_t>(layer)];
}

/// Indices in `range` where the gate of some token is above zero, to scratch.live; how many.
std::size_t FindPositive(const Context& context, const float* x, std::size_t stride, Range range) {
  ThreadScratch& scratch = context.scratch();
  const float* any = x + range.begin;
  const std::size_t size = range.end - range.begin;
  if (context.num_tokens > 1) {
    float* merged = scratch.live_gate.data();
    std::copy(any, any + size, merged);
    for (std::size_t token = 1; token < context.num_tokens; ++token) {
      const float* other = any + token * stride;
      for (std::size_t i = 0; i < size; ++i) merged[i] = merged[i] > 0 ? merged[i] : other[i];
    }
    any = merged;
  }
  return context.weights.kernels.sparse().find_positive(
      any, size, static_cast<std::uint32_t>(range.begin), scratch.live.data());
}

/// Indices where an activation of some token is not zero, to scratch.live; how many.
std::size_t FindNonzero(const Context& context, std::size_t stride, std::size_t size) {
  ThreadScratch& scratch = context.scratch();
  const std::int8_t* any = context.state.activations.values.data();
  if (context.num_tokens > 1) {
    std::int8_t* merged = scratch.row.data();
    std::copy(any, any + size, merged);
    for (std::size_t token = 1; token < context.num_tokens; ++token) {
      const std::int8_t* other = any + token * stride;
      for (std::size_t i = 0; i < size; ++i) merged[i] |= other[i];
    }
    any = merged;
  }
  return context.weights.kernels.sparse().find_nonzero(any, size, scratch.live.data());
}

/// sums[token * count + i] = row live[i] of a matrix times a token's activations.
void SumLiveRows(const Context& context, const TernaryMatrix& matrix, std::size_t count) {
  constexpr std::size_t kRowsInCache = 32;
  const QuantizedActivations& acts = context.state.activations;
  ThreadScratch& scratch = context.scratch();
  const std::size_t at_once = context.num_tokens == 1 ? count : kRowsInCache;
  for (std::size_t i = 0; i < count; i += at_once) {
    for (std::size_t token = 0; token < context.num_tokens; ++token) {
      context.weights.kernels.sparse().gemv_rows(
          matrix.tiles.data(), matrix.num_blocks, scratch.live.data() + i,
          std::min(at_once, count - i),
          acts.values.data() + token * matrix.num_blocks * quant::kTileBlock, acts.sums[token],
          scratch.sums.data() + token * count + i);
    }
  }
}

/// live_up[i] = sums[i], rescaled as what a token's activations made of row live[i].
void RescaleLiveRows(const Context& context, const TernaryMatrix& matrix, std::size_t token,
                     std::size_t count, const std::int32_t* sums) {
  const TernaryMatrix::Part& part = matrix.parts[0];
  ThreadScratch& scratch = context.scratch();
  float* up = scratch.live_up.data();
  const bool by_row = !part.row_scales.empty();
  for (std::size_t i = 0; i < count && by_row; ++i) up[i] = part.row_scales[scratch.live[i]];
  const kernels::RescaleArgs args{.sums = sums,
                                  .sums_stride = count,
                                  .num_rows = count,
                                  .num_tokens = 1,
                                  .act_scales = context.state.activations.scales.data() + token,
                                  .weight_scale = part.scale,
                                  .row_scales = by_row ? up : nullptr,
                                  .out = up,
                                  .out_stride = count};
  context.floats().rescale(&args);
}

/// hidden += down_proj times a token's activations, in `rows`, from all threads' sums of columns.
void AddColumnSums(const Context& context, const TernaryMatrix& matrix, std::size_t token,
                   Range rows) {
  const QuantizedActivations& acts = context.state.activations;
  const std::size_t count = rows.end - rows.begin;
  std::int32_t* sums = context.scratch().sums.data();
  std::fill(sums, sums + count, -acts.sums[token]);
  for (int t = 0; t < context.team.size(); ++t) {
    const std::int32_t* partial =
        context.state.threads[static_cast<std::size_t>(t)].partial.data() +
        token * matrix.padded_rows() + rows.begin;
    for (std::size_t i = 0; i < count; ++i) sums[i] += partial[i];
  }
  float* projected = context.state.projected.data() + token * matrix.padded_rows();
  RescaleRows(context, matrix, Range{token, token + 1}, rows, sums, count,
              context.state.projected.data());
  float* hidden =
      context.state.hidden.data() + token * static_cast<std::size_t>(context.config.hidden_size);
  context.floats().add(hidden + rows.begin, projected + rows.begin, count);
}

/// gate[r] = max(gate[r], 0)^2 * up of one token: of live rows r; the others become 0.
void GateLiveRows(const Context& context, Range rows, std::size_t count, float* gate) {
  ThreadScratch& scratch = context.scratch();
  for (std::size_t i = 0; i < count; ++i) scratch.live_gate[i] = gate[scratch.live[i]];
  context.floats().relu2_mul(scratch.live_gate.data(), scratch.live_up.data(), count,
                             scratch.live_up.data());
  std::fill(gate + rows.begin, gate + rows.end, 0.0f);
  for (std::size_t i = 0; i < count; ++i) gate[scratch.live[i]] = scratch.live_up[i];
}

/// The gated product of the rows that some tiles of gate_proj have, whose gates are there.
void GateLiveUp(const Context& context, int index, Range tiles) {
  const LayerWeights& layer = LayerOf(context, index);
  ThreadScratch& scratch = context.scratch();
  float* gate = context.state.gate_up.data();
  const std::size_t stride = layer.gate_up_proj.padded_rows();
  const std::size_t all = layer.gate_up_proj.parts[0].rows;
  const std::size_t tile_rows = TileRows(layer.gate_up_proj.layout);
  const Range rows{std::min(tiles.begin * tile_rows, all), std::min(tiles.end * tile_rows, all)};
  const std::size_t count = FindPositive(context, gate, stride, rows);
  scratch.skips.up_rows += rows.end - rows.begin;
  scratch.skips.live_up_rows += count;
  SumLiveRows(context, layer.up_proj, count);
  for (std::size_t token = 0; token < context.num_tokens; ++token) {
    RescaleLiveRows(context, layer.up_proj, token, count, scratch.sums.data() + token * count);
    GateLiveRows(context, rows, count, gate + token * stride);
  }
}

}  // namespace

void GatedUpSkipping(const Context& context, int index) {
  const TernaryMatrix& gate_proj = LayerOf(context, index).gate_up_proj;
  float* gate = context.state.gate_up.data();
  const auto multiply = [&](Range tiles) { LinearTiles(context, gate_proj, tiles, gate); };
  const auto multiply_live = [&](Range tiles) { GateLiveUp(context, index, tiles); };
  const std::size_t at_once = TilesAtOnce(gate_proj);
  if (context.state.tracer == nullptr) {  // whoever made a gate goes on with its rows: no barrier
    context.team.Deal(gate_proj.num_tiles, at_once, [&](Range tiles) {
      multiply(tiles);
      multiply_live(tiles);
    });
  } else {
    context.team.Deal(gate_proj.num_tiles, at_once, multiply);
    TraceShares(context, &LayerOf(context, index), TracePoint::kGate);
    context.team.Deal(gate_proj.num_tiles, at_once, multiply_live);
  }
}

void AddDownSkipping(const Context& context, int index) {
  const TernaryMatrix& matrix = LayerOf(context, index).down_proj;
  const QuantizedActivations& acts = context.state.activations;
  ThreadScratch& scratch = context.scratch();
  const std::size_t act_stride = matrix.num_blocks * quant::kTileBlock;
  // Every thread takes its share of the live columns, for all rows; then of the rows.
  const std::size_t live = FindNonzero(context, act_stride, matrix.cols);
  const Range mine = context.team.Share(live);
  if (context.team.index() == 0) scratch.skips.down_columns += matrix.cols;
  scratch.skips.live_down_columns += mine.end - mine.begin;
  const kernels::ColumnArgs args{.columns = matrix.tiles.data(),
                                 .num_panels = matrix.num_tiles,
                                 .live = scratch.live.data() + mine.begin,
                                 .count = mine.end - mine.begin,
                                 .acts = acts.values.data(),
                                 .act_stride = act_stride,
                                 .num_tokens = context.num_tokens,
                                 .sums = scratch.partial.data()};
  context.weights.kernels.sparse().gemv_columns(&args);
  context.team.Barrier();
  const Range tiles = context.team.Share(quant::TilesOfRows(matrix.parts[0].rows));
  const std::size_t first = tiles.begin * kTileRows;
  const std::size_t end = std::min(tiles.end * kTileRows, matrix.parts[0].rows);
  for (std::size_t token = 0; token < context.num_tokens; ++token) {
    AddColumnSums(context, matrix, token, Range{first, end});
  }
}

}  // namespace bittern::model
