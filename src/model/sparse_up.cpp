// SPDX-License-Identifier: Apache-2.0
#include "model/sparse_up.hpp"

#include <algorithm>

#include "model/gemm.hpp"
#include "model/linear.hpp"
#include "model/trace_step.hpp"
#include "quant/tile16.hpp"

namespace bittern::model {
namespace {

/// The share of gates above zero among some rows, from one token in eight.
double ShareOfLive(const Context& context, const float* gate, std::size_t stride, Range rows) {
  const std::size_t size = rows.end - rows.begin;
  std::size_t live = 0, all = 0;
  for (std::size_t token = 0; token < context.num_tokens; token += 8, all += size) {
    live += context.weights.kernels.sparse().find_positive(gate + token * stride + rows.begin, size,
                                                           0, context.scratch().live.data());
  }
  return static_cast<double>(live) / static_cast<double>(all);
}

std::int8_t* OrderedInput(const Context& context, const TernaryMatrix& up, std::size_t token) {
  return context.state.activations.ordered.data() + token * kernels::OrderedActs(up.num_blocks);
}

/// up[i] = row rows.begin + i of up_proj times a token's activations where its gate (gate[i]) is
/// above zero, else 0.
void MultiplyLiveRows(const Context& context, const TernaryMatrix& matrix, std::size_t token,
                      const float* gate, Range rows, float* up) {
  QuantizedActivations& acts = context.state.activations;
  const kernels::SparseOps& sparse = context.weights.kernels.sparse();
  const TernaryMatrix::Part& part = matrix.parts[0];
  ThreadScratch& scratch = context.scratch();
  const std::size_t size = rows.end - rows.begin;
  const std::uint32_t* live = scratch.live.data();
  const std::size_t count = sparse.find_positive(gate, size, 0, scratch.live.data());
  if (context.num_tokens == 1) scratch.skips.up_rows.Add(size, count);
  scratch.skips.up_products.Add(size, count);
  const std::size_t row_bytes = matrix.num_blocks * quant::kTileBlock / 4;
  const kernels::RowArgs product{.rows = matrix.tiles.data() + rows.begin * row_bytes,
                                 .num_blocks = matrix.num_blocks,
                                 .live = live,
                                 .count = count,
                                 .act = OrderedInput(context, matrix, token),
                                 .act_sum = acts.sums[token],
                                 .in_cache = token != 0,
                                 .out = scratch.live_sums.data()};
  sparse.gemv_rows(&product);
  std::int32_t* sums = scratch.sums.data();
  std::fill(sums, sums + size, 0);
  for (std::size_t i = 0; i < count; ++i) sums[live[i]] = scratch.live_sums[i];
  const kernels::RescaleArgs args{
      .sums = sums,
      .sums_stride = size,
      .num_rows = size,
      .num_tokens = 1,
      .act_scales = acts.scales.data() + token,
      .weight_scale = part.scale,
      .row_scales = part.row_scales.empty() ? nullptr : part.row_scales.data() + rows.begin,
      .out = up,
      .out_stride = size};
  context.floats().rescale(&args);
}

/// The gated product in some rows, whose gates are there, of all tokens. rows: whole tiles of
/// up_proj.
void GateRows(const Context& context, const LayerWeights& layer, Range rows) {
  const std::size_t stride = layer.gate_up_proj.padded_rows();
  const std::size_t up_stride = layer.up_proj.padded_rows();
  float* gates = context.state.gate_up.data();
  const Range real{rows.begin, std::min(rows.end, layer.num_neurons())};
  if (real.begin >= real.end) return;
  const bool dense = !context.few() && !PaysToSkip(ShareOfLive(context, gates, stride, real),
                                                   context.weights.kernels.sparse().row_cost);
  if (dense) {
    const std::size_t products = (real.end - real.begin) * context.num_tokens;
    context.scratch().skips.up_products.Add(products, products);
    GemmRows(context, layer.up_proj, Range{rows.begin, std::min(rows.end, up_stride)},
             context.state.up.data());
  }
  for (std::size_t token = 0; token < context.num_tokens; ++token) {
    float* gate = gates + token * stride + real.begin;
    float* up = context.state.up.data() + token * up_stride + real.begin;
    if (!dense) {
      up = context.scratch().live_up.data();
      MultiplyLiveRows(context, layer.up_proj, token, gate, real, up);
    }
    context.floats().relu2_mul(gate, up, real.end - real.begin, gate);
  }
}

/// gate_proj in pieces: of a few tokens tiles as they are stored, of more those of gemm.
struct GatePieces {
  const Context& context;
  const TernaryMatrix& matrix;

  [[nodiscard]] std::size_t count() const {
    return context.few() ? matrix.num_tiles : GemmPieces(matrix);
  }
  [[nodiscard]] std::size_t at_once() const { return context.few() ? TilesAtOnce(matrix) : 1; }
  void Multiply(Range pieces) const {
    float* gate = context.state.gate_up.data();
    if (context.few()) return LinearTiles(context, matrix, pieces, gate);
    for (std::size_t i = pieces.begin; i < pieces.end; ++i) GemmPiece(context, matrix, i, gate);
  }
  [[nodiscard]] Range Rows(Range pieces) const {
    const std::size_t tile_rows = TileRows(matrix.layout);
    if (context.few()) return Range{pieces.begin * tile_rows, pieces.end * tile_rows};
    return Range{GemmPieceRows(matrix, pieces.begin).begin,
                 GemmPieceRows(matrix, pieces.end - 1).end};
  }
};

}  // namespace

void OrderUpInput(const Context& context, const LayerWeights& layer, std::size_t token) {
  const TernaryMatrix& up = layer.up_proj;
  context.weights.kernels.sparse().order_acts(
      context.state.activations.row(token, up.num_blocks, context.few()), up.num_blocks,
      OrderedInput(context, up, token));
}

void GatedUp(const Context& context, const LayerWeights& layer) {
  const GatePieces gate{context, layer.gate_up_proj};
  const auto multiply = [&](Range pieces) { gate.Multiply(pieces); };
  const auto multiply_live = [&](Range pieces) { GateRows(context, layer, gate.Rows(pieces)); };
  if (context.state.tracer == nullptr) {  // whoever made a gate goes on with its rows: no barrier
    context.team.Deal(gate.count(), gate.at_once(), [&](Range pieces) {
      multiply(pieces);
      multiply_live(pieces);
    });
  } else {
    context.team.Deal(gate.count(), gate.at_once(), multiply);
    TraceShares(context, &layer, TracePoint::kGate);
    context.team.Deal(gate.count(), gate.at_once(), multiply_live);
  }
}

}  // namespace bittern::model
