// SPDX-License-Identifier: Apache-2.0
#include "model/sparse_batch.hpp"

#include <algorithm>
#include <cstring>

#include "model/for_tokens.hpp"
#include "model/gemm.hpp"
#include "model/linear.hpp"
#include "model/trace_step.hpp"
#include "quant/skip_layouts.hpp"
#include "quant/tile16.hpp"

namespace bittern::model {
namespace {

using quant::kPanelLineBytes;
using quant::kPanelRows;

/// Whether it pays to take live terms by themselves, each of which costs `cost` times as much as in
/// dense tiles. What is gained must also pay for finding them.
bool Pays(double share_of_live, float cost) {
  constexpr double kFinding = 0.05;
  return share_of_live * static_cast<double>(cost) + kFinding < 1;
}

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

/// up[i] = row rows.begin + i of up_proj times a token's activations where its gate is above zero,
/// else 0.
void MultiplyLiveRows(const Context& context, const TernaryMatrix& matrix, std::size_t token,
                      const float* gate, Range rows, float* up) {
  const QuantizedActivations& acts = context.state.activations;
  const kernels::SparseOps& sparse = context.weights.kernels.sparse();
  const TernaryMatrix::Part& part = matrix.parts[0];
  ThreadScratch& scratch = context.scratch();
  const std::size_t size = rows.end - rows.begin;
  std::uint32_t* live = scratch.live.data();
  const std::size_t count = sparse.find_positive(gate, size, 0, live);
  const std::size_t row_bytes = matrix.num_blocks * quant::kTileBlock / 4;
  sparse.gemv_rows(matrix.tiles.data() + rows.begin * row_bytes, matrix.num_blocks, live, count,
                   acts.rows.data() + token * matrix.num_blocks * quant::kTileBlock,
                   acts.sums[token], scratch.sums.data());
  std::int32_t* all = scratch.sums.data() + size;
  std::memset(all, 0, size * sizeof *all);
  for (std::size_t i = 0; i < count; ++i) all[live[i]] = scratch.sums[i];
  const kernels::RescaleArgs args{
      .sums = all,
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

/// The gated product in some rows, whose gates are there, of all tokens.
void GateUpRows(const Context& context, const LayerWeights& layer, Range rows) {
  const std::size_t stride = layer.gate_up_proj.padded_rows();
  const std::size_t up_stride = layer.up_proj.padded_rows();
  float* gates = context.state.gate_up.data();
  const Range real{rows.begin, std::min(rows.end, layer.num_neurons())};
  if (real.begin >= real.end) return;
  const std::size_t size = real.end - real.begin;
  const bool dense =
      !Pays(ShareOfLive(context, gates, stride, real), context.weights.kernels.sparse().row_cost);
  if (dense) {
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
    context.floats().relu2_mul(gate, up, size, gate);
  }
}

/// sums[token][256 rows] -= the tokens' sums of activations: of codes becomes of weights.
void CloseSums(const Context& context, Range tokens, std::int32_t* sums) {
  for (std::size_t token = tokens.begin; token < tokens.end; ++token, sums += kPanelRows) {
    const std::int32_t act_sum = context.state.activations.sums[token];
    for (std::size_t r = 0; r < kPanelRows; ++r) sums[r] -= act_sum;
  }
}

/// A panel of columns in cache, line after line, times the live activations of some tokens.
void MultiplyLiveColumns(const Context& context, const TernaryMatrix& matrix, std::size_t panel,
                         const std::uint8_t* lines, Range tokens) {
  const QuantizedActivations& acts = context.state.activations;
  const LiveInputs& live = context.state.live_inputs;
  const std::size_t act_stride = matrix.num_blocks * quant::kTileBlock;
  std::int32_t* sums = context.scratch().sums.data();
  for (std::size_t token = tokens.begin; token < tokens.end; ++token) {
    const kernels::ColumnArgs args{.columns = lines,
                                   .num_panels = 1,
                                   .live = live.columns.data() + token * live.stride,
                                   .count = live.counts[token],
                                   .acts = acts.rows.data() + token * act_stride,
                                   .act_stride = act_stride,
                                   .num_tokens = 1,
                                   .sums = sums + (token - tokens.begin) * kPanelRows};
    context.weights.kernels.sparse().gemv_columns(&args);
  }
  CloseSums(context, tokens, sums);
  RescaleRows(context, matrix, tokens, Range{panel * kPanelRows, (panel + 1) * kPanelRows}, sums,
              kPanelRows, context.state.projected.data());
}

/// A token's quantised activations, of a matrix of `cols` columns.
std::int8_t* Row(const Context& context, std::size_t token, std::size_t cols) {
  return context.state.activations.rows.data() +
         token * quant::BlocksOfCols(cols) * quant::kTileBlock;
}

/// The lines of a panel, which lie as far apart as columns are long, one after the other.
void GatherPanel(const TernaryMatrix& matrix, std::size_t panel, std::uint8_t* lines) {
  constexpr std::size_t kAhead = 16;
  const TilePlace place = PlaceOfTile(matrix.layout, matrix.cols, matrix.num_tiles, panel);
  const std::uint8_t* from = matrix.tiles.data() + place.offset;
  for (std::size_t c = 0; c < matrix.cols; ++c, from += place.column_bytes) {
    __builtin_prefetch(from + kAhead * place.column_bytes);
    std::memcpy(lines + c * kPanelLineBytes, from, kPanelLineBytes);
  }
}

}  // namespace

void GatedUpOfBatch(const Context& context, int index) {
  const LayerWeights& layer = context.weights.layers[static_cast<std::size_t>(index)];
  const TernaryMatrix& gate_proj = layer.gate_up_proj;
  const auto multiply = [&](std::size_t piece) {
    GemmPiece(context, gate_proj, piece, context.state.gate_up.data());
  };
  const auto gate_up = [&](std::size_t piece) {
    GateUpRows(context, layer, GemmPieceRows(gate_proj, piece));
  };
  const auto deal = [&](const auto& step) {
    context.team.Deal(GemmPieces(gate_proj), 1, [&](Range pieces) {
      for (std::size_t piece = pieces.begin; piece < pieces.end; ++piece) step(piece);
    });
  };
  if (context.state.tracer == nullptr) {  // whoever made a gate goes on with its rows: no barrier
    deal([&](std::size_t piece) {
      multiply(piece);
      gate_up(piece);
    });
  } else {
    deal(multiply);
    TraceShares(context, &layer, TracePoint::kGate);
    deal(gate_up);
  }
}

void QuantizeLive(const Context& context, std::size_t token, const float* x, std::size_t size) {
  LiveInputs& live = context.state.live_inputs;
  std::int8_t* row = Row(context, token, size);
  QuantizeRow(context, token, x, size, row);
  live.counts[token] = context.weights.kernels.sparse().find_nonzero(
      row, size, live.columns.data() + token * live.stride);
}

void DownOfBatch(const Context& context, const LayerWeights& layer) {
  const TernaryMatrix& matrix = layer.down_proj;
  const LiveInputs& live = context.state.live_inputs;
  std::size_t count = 0;
  for (std::size_t token = 0; token < context.num_tokens; ++token) count += live.counts[token];
  const double share =
      static_cast<double>(count) / static_cast<double>(context.num_tokens * matrix.cols);
  if (!Pays(share, context.weights.kernels.sparse().column_cost)) {
    ForTokens(context, context.num_tokens, [&](std::size_t token) {
      JoinPanel(Row(context, token, matrix.cols), token, matrix.num_blocks * quant::kTileBlock,
                context.state.activations.values.data());
    });
    return Gemm(context, matrix, context.state.projected.data());
  }
  // Sums of as many tokens at once as the scratch memory holds.
  const std::size_t at_once = std::max<std::size_t>(1, context.scratch().sums.size() / kPanelRows);
  // Of a panel's tokens: enough for every thread to have some eight pieces. Whoever helps with a
  // panel gathers it again.
  const std::size_t parts =
      std::min(context.num_tokens, 1 + 8 * static_cast<std::size_t>(context.team.size()) /
                                           std::max<std::size_t>(1, matrix.num_tiles));
  std::uint8_t* lines = context.scratch().tiles.data();
  std::size_t gathered = matrix.num_tiles;  // none yet
  context.team.Deal(matrix.num_tiles * parts, 1, [&](Range pieces) {
    for (std::size_t piece = pieces.begin; piece < pieces.end; ++piece) {
      const std::size_t panel = piece / parts, part = piece % parts;
      if (panel != gathered) GatherPanel(matrix, panel, lines);
      gathered = panel;
      const std::size_t end = context.num_tokens * (part + 1) / parts;
      for (std::size_t t = context.num_tokens * part / parts; t < end; t += at_once) {
        MultiplyLiveColumns(context, matrix, panel, lines, Range{t, std::min(end, t + at_once)});
      }
    }
  });
}

}  // namespace bittern::model
