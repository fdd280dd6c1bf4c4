// SPDX-License-Identifier: Apache-2.0
// gate and up with squared ReLU: where relu(gate) is 0 the product is 0 whatever up is, so those
// rows of up_proj are not read. A thread computes a piece of gates, lists the positive ones,
// multiplies only their rows of up_proj, and writes the gated product in place. Of each piece a
// batch compares the cost of its live rows with the cost of all rows (PaysToSkip), and takes the
// cheaper way. Both give the same bits: relu2_mul writes +0 where a row was left out.
#include "model/forward/sparse_up.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>

#include "kernels/registry.hpp"
#include "model/forward/gemm.hpp"
#include "model/forward/linear.hpp"
#include "model/forward/trace_step.hpp"
#include "quant/layouts/tile16.hpp"

namespace bittern::model {
namespace {

/// The arguments of GatedUp.
struct Gating {
  const Context& context;
  const LayerWeights& layer;
  const QuantizedRows& in;
  FloatRows gate, up;

  [[nodiscard]] MatrixProduct gate_product() const {
    return {context, in, layer.gate_up_proj, gate};
  }
  [[nodiscard]] MatrixProduct up_product() const { return {context, in, layer.up_proj, up}; }
};

/// The share of gates above zero among some rows, from one token in eight.
double ShareOfLive(const Gating& gating, Range rows, Range tokens) {
  const std::size_t size = rows.end - rows.begin;
  std::size_t live = 0, all = 0;
  for (std::size_t token = tokens.begin; token < tokens.end; token += 8, all += size) {
    live += gating.context.weights.kernels->sparse().find_positive(
        gating.gate.row(token) + rows.begin, size, 0, gating.context.scratch().live.data());
  }
  return static_cast<double>(live) / static_cast<double>(all);
}

/// The place where a token finds its live rows: those that were live for the tokens before it are
/// in cache.
kernels::From SourceOfRows(std::size_t token) {
  if (token == 0) return kernels::From::kMemory;
  return token < kFewTokens ? kernels::From::kBoth : kernels::From::kCache;
}

/// The gated product of a token in some rows, in the place of its gates. sums: those rows of
/// up_proj times the token, of dead rows 0.
void FinishGate(const Gating& gating, std::size_t token, Range rows, const std::int32_t* sums) {
  const TernaryMatrix::Part& part = gating.layer.up_proj.parts[0];
  float* up = gating.context.scratch().live_up.data();
  float* gate = gating.gate.row(token) + rows.begin;
  const std::size_t size = rows.end - rows.begin;
  const kernels::RescaleArgs args{
      .sums = sums,
      .sums_stride = size,
      .num_rows = size,
      .num_tokens = 1,
      .act_scales = gating.in.scales(token),
      .weight_scale = part.scale,
      .row_scales = part.row_scales.empty() ? nullptr : part.row_scales.data() + rows.begin,
      .out = up,
      .out_stride = size};
  gating.context.floats().rescale(&args);
  gating.context.floats().relu2_mul(gate, up, size, gate);
}

/// The gated product of a token in some rows, whose gates are there, from those rows of up_proj
/// whose gate is above zero. from: where it finds them.
void GateLiveRows(const Gating& gating, std::size_t token, Range rows, kernels::From from) {
  const auto& [context, layer, in, gates, up] = gating;
  const TernaryMatrix& matrix = layer.up_proj;
  const kernels::SparseOps& sparse = context.weights.kernels->sparse();
  ThreadScratch& scratch = context.scratch();
  float* gate = gates.row(token) + rows.begin;
  const std::size_t size = rows.end - rows.begin;
  const std::uint32_t* live = scratch.live.data();
  const std::size_t count = sparse.find_positive(gate, size, 0, scratch.live.data());
  if (in.count == 1) scratch.skips.up_rows.Add(size, count);
  scratch.skips.up_products.Add(size, count);
  const std::size_t row_bytes = matrix.num_blocks * quant::kTileBlock / 4;
  const kernels::RowArgs product{.rows = matrix.tiles.data() + rows.begin * row_bytes,
                                 .num_blocks = matrix.num_blocks,
                                 .live = live,
                                 .count = count,
                                 .act = in.ordered(token),
                                 .act_sum = *in.sums(token),
                                 .from = from,
                                 .out = scratch.live_sums.data()};
  sparse.gemv_rows(&product);
  std::int32_t* sums = scratch.sums.data();
  std::fill(sums, sums + size, 0);
  for (std::size_t i = 0; i < count; ++i) sums[live[i]] = scratch.live_sums[i];
  FinishGate(gating, token, rows, sums);
}

constexpr std::size_t kSharedRows = 256;  // at once

/// Sets bit t of chosen[row] where the gate of token t, of at most kRowVectors, is above zero.
/// Returns the number of these bits.
std::size_t ChooseRows(const Gating& gating, Range tokens, Range rows, std::uint8_t* chosen) {
  const std::size_t size = rows.end - rows.begin;
  std::fill_n(chosen, size, std::uint8_t{0});
  for (std::size_t t = 0; t < tokens.end - tokens.begin; ++t) {
    const float* gate = gating.gate.row(tokens.begin + t) + rows.begin;
    const unsigned bit = 1u << t;
    for (std::size_t row = 0; row < size; ++row) {
      chosen[row] = static_cast<std::uint8_t>(chosen[row] | (gate[row] > 0 ? bit : 0u));
    }
  }
  return std::transform_reduce(
      chosen, chosen + size, std::size_t{0}, std::plus<>(),
      [](std::uint8_t bits) { return static_cast<std::size_t>(std::popcount(bits)); });
}

/// As GateLiveRows, of at most kRowVectors tokens and kSharedRows rows, each of which is unpacked
/// once for all tokens.
void GateSharedRows(const Gating& gating, Range tokens, Range rows, kernels::From from) {
  const auto& [context, layer, in, gates, up] = gating;
  const TernaryMatrix& matrix = layer.up_proj;
  ThreadScratch& scratch = context.scratch();
  const std::size_t size = rows.end - rows.begin, num_tokens = tokens.end - tokens.begin;
  std::uint8_t chosen[kSharedRows];
  scratch.skips.up_products.Add(size * num_tokens, ChooseRows(gating, tokens, rows, chosen));
  std::int32_t sums[kernels::kRowVectors * kSharedRows];
  std::fill_n(sums, num_tokens * size, 0);
  const kernels::SharedRowArgs product{
      .rows = matrix.tiles.data() + rows.begin * matrix.num_blocks * quant::kTileBlock / 4,
      .num_blocks = matrix.num_blocks,
      .num_rows = size,
      .chosen = chosen,
      .acts = in.ordered(tokens.begin),
      .act_stride = kernels::OrderedActs(matrix.num_blocks),
      .out_stride = size,
      .act_sums = in.sums(tokens.begin),
      .from = from,
      .out = sums};
  context.weights.kernels->sparse().gemv_shared_rows(&product);
  for (std::size_t t = 0; t < num_tokens; ++t) {
    FinishGate(gating, tokens.begin + t, rows, sums + t * size);
  }
}

/// The gated product of some tokens in some rows, without dead rows of up_proj.
void GateLive(const Gating& gating, Range rows, Range tokens) {
  const std::size_t num_tokens = tokens.end - tokens.begin;
  if (num_tokens == 1 || num_tokens > gating.context.weights.kernels->sparse().shared_tokens) {
    for (std::size_t token = tokens.begin; token < tokens.end; ++token) {
      GateLiveRows(gating, token, rows, SourceOfRows(token - tokens.begin));
    }
    return;
  }
  for (std::size_t token = tokens.begin; token < tokens.end; token += kernels::kRowVectors) {
    const Range some{token, std::min(token + kernels::kRowVectors, tokens.end)};
    for (std::size_t row = rows.begin; row < rows.end; row += kSharedRows) {
      const Range piece{row, std::min(row + kSharedRows, rows.end)};
      GateSharedRows(gating, some, piece, SourceOfRows(token - tokens.begin));
    }
  }
}

/// The same of some tokens, from all rows of up_proj. rows: whole tiles of it, or what is left.
void GateDenseRows(const Gating& gating, Range rows, Range tokens) {
  const Context& context = gating.context;
  const std::size_t size = rows.end - rows.begin;
  const std::size_t end =
      std::min(quant::TilesOfRows(rows.end) * quant::kTileRows, gating.layer.up_proj.padded_rows());
  const std::size_t products = size * (tokens.end - tokens.begin);
  context.scratch().skips.up_products.Add(products, products);
  GemmPart(gating.up_product(), {Range{rows.begin, end}, tokens});
  for (std::size_t token = tokens.begin; token < tokens.end; ++token) {
    float* gate = gating.gate.row(token) + rows.begin;
    context.floats().relu2_mul(gate, gating.up.row(token) + rows.begin, size, gate);
  }
}

/// The gated product of some tokens in some rows, whose gates are there.
void GateRows(const Gating& gating, Range rows, Range tokens) {
  rows.end = std::min(rows.end, gating.layer.num_neurons());
  if (rows.begin >= rows.end) return;
  if (!gating.in.is_decode() && !PaysToSkip(ShareOfLive(gating, rows, tokens),
                                            gating.context.weights.kernels->sparse().row_cost *
                                                GemmGain(gating.up_product()))) {
    return GateDenseRows(gating, rows, tokens);
  }
  GateLive(gating, rows, tokens);
}

/// gate_proj in items that threads take in turn: tiles as they are stored for a few tokens, gemm's
/// items for more.
struct GateItems {
  const MatrixProduct product;

  [[nodiscard]] std::size_t count() const {
    return product.in.is_decode() ? product.matrix.num_tiles : GemmItems(product);
  }
  [[nodiscard]] std::size_t at_once() const {
    return product.in.is_decode() ? TilesAtOnce(product.matrix) : 1;
  }
  /// Computes the gates of some items, then calls then(rows, tokens) for them.
  template <class Then>
  void Multiply(Range items, const Then& then) const {
    if (product.in.is_decode()) {
      LinearTiles(product, items);
      const std::size_t tile_rows = TileRows(product.matrix.layout);
      return then(Range{items.begin * tile_rows, items.end * tile_rows},
                  Range{0, product.in.count});
    }
    for (std::size_t i = items.begin; i < items.end; ++i) {
      const GemmItem item = GemmItemAt(product, i);
      GemmPart(product, item);
      then(item.rows, item.tokens);
    }
  }
};

}  // namespace

void OrderUpInput(const Context& context, std::size_t token, const QuantizedRows& in) {
  context.weights.kernels->sparse().order_acts(in.plain(token), in.num_blocks(), in.ordered(token));
}

void GatedUp(const Context& context, const LayerWeights& layer, const QuantizedRows& in,
             FloatRows product, FloatRows up) {
  const Gating gating{context, layer, in, product, up};
  const GateItems gate{gating.gate_product()};
  if (in.count > 1 && context.state.tracer == nullptr) {
    // The thread that made a gate goes on with its rows, which stay in the cache for all tokens. No
    // barrier lies in between.
    return context.team.Deal(gate.count(), gate.at_once(), [&](Range items) {
      gate.Multiply(items, [&](Range rows, Range tokens) { GateRows(gating, rows, tokens); });
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
    GateRows(gating, Range{tiles.begin * quant::kTileRows, tiles.end * quant::kTileRows},
             Range{0, in.count});
  });
}

}  // namespace bittern::model
