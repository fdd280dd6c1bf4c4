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

/// Indices in [begin, end) of floats above zero. No branch: about half of them are.
std::size_t FindPositive(const float* x, Range range, std::uint32_t* found) {
  std::size_t count = 0;
  for (std::size_t i = range.begin; i < range.end; ++i) {
    found[count] = static_cast<std::uint32_t>(i);
    count += x[i] > 0 ? 1 : 0;
  }
  return count;
}

std::size_t FindNonzero(const std::int8_t* x, std::size_t size, std::uint32_t* found) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < size; ++i) {
    found[count] = static_cast<std::uint32_t>(i);
    count += x[i] != 0 ? 1 : 0;
  }
  return count;
}

/// up[i] = row live[i] of up_proj times the activations.
void MultiplyLiveRows(const Context& context, const TernaryMatrix& matrix, std::size_t count) {
  const QuantizedActivations& acts = context.state.activations;
  ThreadScratch& scratch = context.scratch();
  const TernaryMatrix::Part& part = matrix.parts[0];
  context.weights.kernels.sparse().gemv_rows(matrix.tiles.data(), matrix.num_blocks,
                                             scratch.live.data(), count, acts.values.data(),
                                             acts.sums[0], scratch.sums.data());
  float* up = scratch.live_up.data();
  if (part.row_scales.empty()) {
    return context.floats().rescale(scratch.sums.data(), count, acts.scales[0], part.scale, up);
  }
  for (std::size_t i = 0; i < count; ++i) up[i] = part.row_scales[scratch.live[i]];
  context.floats().rescale_rows(scratch.sums.data(), count, acts.scales[0], up, up);
}

}  // namespace

void GatedUpSkipping(const Context& context, int index) {
  const LayerWeights& layer = LayerOf(context, index);
  ThreadScratch& scratch = context.scratch();
  float* gate = context.state.gate_up.data();
  const Range tiles = context.team.Share(layer.gate_up_proj.num_tiles);
  const std::size_t all = layer.gate_up_proj.parts[0].rows;
  const Range rows{tiles.begin * kTileRows, std::min(tiles.end * kTileRows, all)};
  LinearTiles(context, layer.gate_up_proj, tiles, gate);
  TraceShares(context, &layer, TracePoint::kGate);
  // Every thread goes on with its own rows: no barrier in between.
  const std::size_t count = FindPositive(gate, rows, scratch.live.data());
  scratch.skips.up_rows += rows.end - rows.begin;
  scratch.skips.live_up_rows += count;
  for (std::size_t i = 0; i < count; ++i) scratch.live_gate[i] = gate[scratch.live[i]];
  MultiplyLiveRows(context, layer.up_proj, count);
  context.floats().relu2_mul(scratch.live_gate.data(), scratch.live_up.data(), count,
                             scratch.live_up.data());
  std::fill(gate + rows.begin, gate + rows.end, 0.0f);
  for (std::size_t i = 0; i < count; ++i) gate[scratch.live[i]] = scratch.live_up[i];
  context.team.Barrier();
}

void AddDownSkipping(const Context& context, int index) {
  const TernaryMatrix& matrix = LayerOf(context, index).down_proj;
  const QuantizedActivations& acts = context.state.activations;
  ThreadScratch& scratch = context.scratch();
  // Every thread takes its share of the live columns, for all rows; then of the rows.
  const std::size_t live = FindNonzero(acts.values.data(), matrix.cols, scratch.live.data());
  const Range mine = context.team.Share(live);
  if (context.team.index() == 0) scratch.skips.down_columns += matrix.cols;
  scratch.skips.live_down_columns += mine.end - mine.begin;
  context.weights.kernels.sparse().gemv_columns(
      matrix.tiles.data(), matrix.num_tiles, scratch.live.data() + mine.begin,
      mine.end - mine.begin, acts.values.data(), scratch.partial.data());
  context.team.Barrier();
  const Range tiles = context.team.Share(quant::TilesOfRows(matrix.parts[0].rows));
  const std::size_t first = tiles.begin * kTileRows;
  const std::size_t end = std::min(tiles.end * kTileRows, matrix.parts[0].rows);
  std::int32_t* sums = scratch.sums.data();
  std::fill(sums, sums + (end - first), -acts.sums[0]);
  for (int t = 0; t < context.team.size(); ++t) {
    const std::int32_t* partial = context.state.threads[static_cast<std::size_t>(t)].partial.data();
    for (std::size_t r = first; r < end; ++r) sums[r - first] += partial[r];
  }
  float* projected = context.state.projected.data();
  RescaleRows(context, matrix, first, end - first, sums, acts.scales[0], projected);
  context.floats().add(context.state.hidden.data() + first, projected + first, end - first);
  context.team.Barrier();
}

}  // namespace bittern::model
