// SPDX-License-Identifier: Apache-2.0
// gate and up with squared ReLU: where relu(gate) is 0 the product is 0 whatever up is, so those
// rows of up_proj are not read. A thread computes a piece of gates, lists the positive ones,
// multiplies only their rows of up_proj, and writes the gated product in place. Batches compare the
// cost of single rows with that of all rows (PaysToSkip) for each piece. The result is that of the
// dense path, to the bit: relu2_mul writes +0 where a row was left out.
#include "model/sparse/sparse_up.hpp"

#include <algorithm>

#include "model/forward/gemm.hpp"
#include "model/forward/linear.hpp"
#include "model/trace_step.hpp"
#include "quant/layouts/tile16.hpp"

namespace bittern::model {
namespace {

/// The share of gates above zero among some rows, from one token in eight.
double ShareOfLive(const Context& context, const LayerWeights& layer, Range rows) {
  const std::size_t size = rows.end - rows.begin;
  const float* gates = context.state.gate_up.data() + rows.begin;
  std::size_t live = 0, all = 0;
  for (std::size_t token = 0; token < context.num_tokens; token += 8, all += size) {
    live += context.weights.kernels.sparse().find_positive(
        gates + token * layer.gate_up_proj.padded_rows(), size, 0, context.scratch().live.data());
  }
  return static_cast<double>(live) / static_cast<double>(all);
}

std::int8_t* OrderedInput(const Context& context, const TernaryMatrix& up, std::size_t token) {
  return context.state.activations.ordered.data() + token * kernels::OrderedActs(up.num_blocks);
}

/// Where a token finds its live rows: those that were live for the tokens before it are in cache.
kernels::From SourceOfRows(std::size_t token) {
  if (token == 0) return kernels::From::kMemory;
  return token < kFewTokens ? kernels::From::kBoth : kernels::From::kCache;
}

/// The gated product of a token in some rows, whose gates are there, from those rows of up_proj
/// whose gate is above zero.
void GateLiveRows(const Context& context, const LayerWeights& layer, std::size_t token,
                  Range rows) {
  const TernaryMatrix& matrix = layer.up_proj;
  const TernaryMatrix::Part& part = matrix.parts[0];
  const kernels::SparseOps& sparse = context.weights.kernels.sparse();
  QuantizedActivations& acts = context.state.activations;
  ThreadScratch& scratch = context.scratch();
  float* gate =
      context.state.gate_up.data() + token * layer.gate_up_proj.padded_rows() + rows.begin;
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
                                 .from = SourceOfRows(token),
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
      .out = scratch.live_up.data(),
      .out_stride = size};
  context.floats().rescale(&args);
  context.floats().relu2_mul(gate, scratch.live_up.data(), size, gate);
}

/// The same of all tokens, from all rows of up_proj. rows: whole tiles of it, or what is left.
void GateDenseRows(const Context& context, const LayerWeights& layer, Range rows) {
  const std::size_t up_stride = layer.up_proj.padded_rows(), size = rows.end - rows.begin;
  const std::size_t end = std::min(quant::TilesOfRows(rows.end) * quant::kTileRows, up_stride);
  context.scratch().skips.up_products.Add(size * context.num_tokens, size * context.num_tokens);
  GemmRows(context, layer.up_proj, Range{rows.begin, end}, context.state.up.data());
  for (std::size_t token = 0; token < context.num_tokens; ++token) {
    float* gate = context.state.gate_up.data() + token * layer.gate_up_proj.padded_rows();
    const float* up = context.state.up.data() + token * up_stride;
    context.floats().relu2_mul(gate + rows.begin, up + rows.begin, size, gate + rows.begin);
  }
}

/// The gated product of all tokens in some rows, whose gates are there.
void GateRows(const Context& context, const LayerWeights& layer, Range rows) {
  rows.end = std::min(rows.end, layer.num_neurons());
  if (rows.begin >= rows.end) return;
  if (!context.few() &&
      !PaysToSkip(ShareOfLive(context, layer, rows),
                  context.weights.kernels.sparse().row_cost * GemmGain(context, layer.up_proj))) {
    return GateDenseRows(context, layer, rows);
  }
  for (std::size_t token = 0; token < context.num_tokens; ++token) {
    GateLiveRows(context, layer, token, rows);
  }
}

/// gate_proj in pieces: of a few tokens tiles as they are stored, of more those of gemm.
struct GatePieces {
  const Context& context;
  const TernaryMatrix& matrix;

  [[nodiscard]] std::size_t count() const {
    return context.few() ? matrix.num_tiles : GemmPieces(context, matrix);
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
    return Range{GemmPieceRows(context, matrix, pieces.begin).begin,
                 GemmPieceRows(context, matrix, pieces.end - 1).end};
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
  if (context.num_tokens > 1 && context.state.tracer == nullptr) {
    // The thread that made a gate goes on with its rows, which stay in the cache for all tokens. No
    // barrier lies in between.
    return context.team.Deal(gate.count(), gate.at_once(), [&](Range pieces) {
      gate.Multiply(pieces);
      GateRows(context, layer, gate.Rows(pieces));
    });
  }
  // A single token reads both from memory, where two long streams come faster than many short ones
  // in turn. Who traces wants all gates first, too.
  context.team.Deal(gate.count(), gate.at_once(), [&](Range pieces) { gate.Multiply(pieces); });
  if (context.state.tracer == nullptr) context.team.Barrier();
  TraceShares(context, &layer, TracePoint::kGate);
  constexpr std::size_t kTilesAtOnce = 24;  // 384 rows: some microseconds
  context.team.Deal(quant::TilesOfRows(layer.num_neurons()), kTilesAtOnce, [&](Range tiles) {
    GateRows(context, layer, Range{tiles.begin * quant::kTileRows, tiles.end * quant::kTileRows});
  });
}

}  // namespace bittern::model
