// SPDX-License-Identifier: Apache-2.0
// gate and up with squared ReLU: where relu(gate) is 0 the product is 0 whatever up is, so those
// rows of up_proj are not read. A thread computes a piece of gates, lists the positive ones,
// multiplies only their rows of up_proj, and writes the gated product in place. Batches compare the
// cost of single rows with that of all rows (PaysToSkip) for each piece. The result is that of the
// dense path, to the bit: relu2_mul writes +0 where a row was left out.
#include "model/forward/sparse_up.hpp"

#include <algorithm>

#include "kernels/registry.hpp"
#include "model/forward/gemm.hpp"
#include "model/forward/linear.hpp"
#include "model/forward/trace_step.hpp"
#include "quant/layouts/tile16.hpp"

namespace bittern::model {
namespace {

/// The share of gates above zero among some rows, from one token in eight.
double ShareOfLive(const Context& context, const LayerWeights& layer, Range rows, Range tokens) {
  const std::size_t size = rows.end - rows.begin;
  const float* gates = context.state.gate_up.data() + rows.begin;
  std::size_t live = 0, all = 0;
  for (std::size_t token = tokens.begin; token < tokens.end; token += 8, all += size) {
    live += context.weights.kernels->sparse().find_positive(
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
/// whose gate is above zero. from: where it finds them.
void GateLiveRows(const Context& context, const LayerWeights& layer, std::size_t token, Range rows,
                  kernels::From from) {
  const TernaryMatrix& matrix = layer.up_proj;
  const TernaryMatrix::Part& part = matrix.parts[0];
  const kernels::SparseOps& sparse = context.weights.kernels->sparse();
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
                                 .from = from,
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

/// The same of some tokens, from all rows of up_proj. rows: whole tiles of it, or what is left.
void GateDenseRows(const Context& context, const LayerWeights& layer, Range rows, Range tokens) {
  const std::size_t up_stride = layer.up_proj.padded_rows(), size = rows.end - rows.begin;
  const std::size_t end = std::min(quant::TilesOfRows(rows.end) * quant::kTileRows, up_stride);
  const std::size_t products = size * (tokens.end - tokens.begin);
  context.scratch().skips.up_products.Add(products, products);
  GemmPart(context, layer.up_proj, {Range{rows.begin, end}, tokens}, context.state.up.data());
  for (std::size_t token = tokens.begin; token < tokens.end; ++token) {
    float* gate = context.state.gate_up.data() + token * layer.gate_up_proj.padded_rows();
    const float* up = context.state.up.data() + token * up_stride;
    context.floats().relu2_mul(gate + rows.begin, up + rows.begin, size, gate + rows.begin);
  }
}

/// The gated product of some tokens in some rows, whose gates are there.
void GateRows(const Context& context, const LayerWeights& layer, Range rows, Range tokens) {
  rows.end = std::min(rows.end, layer.num_neurons());
  if (rows.begin >= rows.end) return;
  if (!context.few() &&
      !PaysToSkip(ShareOfLive(context, layer, rows, tokens),
                  context.weights.kernels->sparse().row_cost * GemmGain(context, layer.up_proj))) {
    return GateDenseRows(context, layer, rows, tokens);
  }
  for (std::size_t token = tokens.begin; token < tokens.end; ++token) {
    GateLiveRows(context, layer, token, rows, SourceOfRows(token - tokens.begin));
  }
}

/// gate_proj in items that can be dealt out: of a few tokens tiles as they are stored, of more
/// those of gemm.
struct GateItems {
  const Context& context;
  const TernaryMatrix& matrix;

  [[nodiscard]] std::size_t count() const {
    return context.few() ? matrix.num_tiles : GemmItems(context, matrix);
  }
  [[nodiscard]] std::size_t at_once() const { return context.few() ? TilesAtOnce(matrix) : 1; }
  /// Computes the gates of some items, then calls then(rows, tokens) for them.
  template <class Then>
  void Multiply(Range items, const Then& then) const {
    float* gate = context.state.gate_up.data();
    if (context.few()) {
      LinearTiles(context, matrix, items, gate);
      const std::size_t tile_rows = TileRows(matrix.layout);
      return then(Range{items.begin * tile_rows, items.end * tile_rows},
                  Range{0, context.num_tokens});
    }
    for (std::size_t i = items.begin; i < items.end; ++i) {
      const GemmItem item = GemmItemAt(context, matrix, i);
      GemmPart(context, matrix, item, gate);
      then(item.rows, item.tokens);
    }
  }
};

}  // namespace

void OrderUpInput(const Context& context, const LayerWeights& layer, std::size_t token) {
  const TernaryMatrix& up = layer.up_proj;
  context.weights.kernels->sparse().order_acts(
      context.state.activations.row(token, up.num_blocks, context.few()), up.num_blocks,
      OrderedInput(context, up, token));
}

void GatedUp(const Context& context, const LayerWeights& layer) {
  const GateItems gate{context, layer.gate_up_proj};
  if (context.num_tokens > 1 && context.state.tracer == nullptr) {
    // The thread that made a gate goes on with its rows, which stay in the cache for all tokens. No
    // barrier lies in between.
    return context.team.Deal(gate.count(), gate.at_once(), [&](Range items) {
      gate.Multiply(items,
                    [&](Range rows, Range tokens) { GateRows(context, layer, rows, tokens); });
    });
  }
  // A single token reads both from memory, where two long streams come faster than many short ones
  // in turn. A tracer wants all gates first, too.
  context.team.Deal(gate.count(), gate.at_once(),
                    [&](Range items) { gate.Multiply(items, [](Range, Range) {}); });
  if (context.state.tracer == nullptr) context.team.Barrier();
  TraceShares(context, &layer, TracePoint::kGate);
  constexpr std::size_t kTilesAtOnce = 24;  // 384 rows: some microseconds
  context.team.Deal(quant::TilesOfRows(layer.num_neurons()), kTilesAtOnce, [&](Range tiles) {
    GateRows(context, layer, Range{tiles.begin * quant::kTileRows, tiles.end * quant::kTileRows},
             Range{0, context.num_tokens});
  });
}

}  // namespace bittern::model
