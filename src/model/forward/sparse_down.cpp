// SPDX-License-Identifier: Apache-2.0
// down_proj with inputs that are mostly 0: its columns are stored one after the other, and those
// that meet a 0 are not read. Few tokens: each thread sums its share of the live columns over all
// rows, then, after a barrier, its share of the rows over all threads. Batches: a panel of 256 rows
// is gathered into cache and serves every token. Sums are int32, so their order does not matter.
#include "model/forward/sparse_down.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/registry.hpp"
#include "model/forward/for_tokens.hpp"
#include "model/forward/gemm.hpp"
#include "model/forward/linear.hpp"
#include "quant/layouts/skip_layouts.hpp"
#include "quant/layouts/tile16.hpp"

namespace bittern::model {
namespace {

using quant::kPanelLineBytes;
using quant::kPanelRows;
using quant::kTileRows;

/// Indices where an activation of some token is not zero, to scratch.live; how many.
std::size_t FindNonzero(const Context& context, const QuantizedRows& in) {
  ThreadScratch& scratch = context.scratch();
  const std::int8_t* any = in.plain(0);
  if (in.count > 1) {
    std::int8_t* merged = scratch.row.data();
    std::copy(any, any + in.cols, merged);
    for (std::size_t token = 1; token < in.count; ++token) {
      const std::int8_t* other = in.plain(token);
      for (std::size_t i = 0; i < in.cols; ++i) merged[i] |= other[i];
    }
    any = merged;
  }
  return context.weights.kernels->sparse().find_nonzero(any, in.cols, scratch.live.data());
}

/// hidden, if any, += down_proj times a token's activations, in `rows`, from all threads' sums of
/// columns.
void AddColumnSums(const MatrixProduct& product, std::size_t token, Range rows, FloatRows hidden) {
  const auto& [context, in, matrix, projected] = product;
  const std::size_t count = rows.end - rows.begin;
  std::int32_t* sums = context.scratch().sums.data();
  std::fill(sums, sums + count, -*in.sums(token));
  for (int t = 0; t < context.team.size(); ++t) {
    const std::int32_t* partial =
        context.state.threads[static_cast<std::size_t>(t)].partial.data() +
        token * matrix.padded_rows() + rows.begin;
    for (std::size_t i = 0; i < count; ++i) sums[i] += partial[i];
  }
  RescaleRows(product, Range{token, token + 1}, rows, sums, count);
  if (hidden.data == nullptr) return;
  context.floats().add(hidden.row(token) + rows.begin, projected.row(token) + rows.begin, count);
}

/// sums[token][256 rows] -= the tokens' sums of activations: of codes becomes of weights.
void CloseSums(const QuantizedRows& in, Range tokens, std::int32_t* sums) {
  for (std::size_t token = tokens.begin; token < tokens.end; ++token, sums += kPanelRows) {
    const std::int32_t act_sum = *in.sums(token);
    for (std::size_t r = 0; r < kPanelRows; ++r) sums[r] -= act_sum;
  }
}

/// A panel of columns in cache, line after line, times the live activations of some tokens.
void MultiplyLiveColumns(const MatrixProduct& product, const LiveInputs& live, std::size_t panel,
                         const std::uint8_t* lines, Range tokens) {
  const Context& context = product.context;
  std::int32_t* sums = context.scratch().sums.data();
  for (std::size_t token = tokens.begin; token < tokens.end; ++token) {
    const kernels::ColumnArgs args{.columns = lines,
                                   .num_panels = 1,
                                   .live = live.row(token),
                                   .count = live.counts[token],
                                   .acts = product.in.plain(token),
                                   .act_stride = 0,
                                   .num_tokens = 1,
                                   .sums = sums + (token - tokens.begin) * kPanelRows};
    context.weights.kernels->sparse().gemv_columns(&args);
  }
  CloseSums(product.in, tokens, sums);
  RescaleRows(product, tokens, Range{panel * kPanelRows, (panel + 1) * kPanelRows}, sums,
              kPanelRows);
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

/// Adds to the statistics what a few tokens do: this thread has `mine` of scratch.live.
void Count(const Context& context, const QuantizedRows& in, Range mine) {
  const std::size_t all = context.team.index() == 0 ? in.cols : 0;
  const std::uint32_t* live = context.scratch().live.data();
  SkipStats& skips = context.scratch().skips;
  std::size_t products = 0;
  for (std::size_t token = 0; token < in.count && mine.begin < mine.end; ++token) {
    const std::int8_t* row = in.plain(token);
    products +=
        static_cast<std::size_t>(std::count_if(row + live[mine.begin], row + live[mine.end - 1] + 1,
                                               [](std::int8_t value) { return value != 0; }));
  }
  skips.down_products.Add(all * in.count, products);
  if (in.count == 1) skips.down_columns.Add(all, mine.end - mine.begin);
}

}  // namespace

void AddDownOfFew(const Context& context, const QuantizedRows& in, const TernaryMatrix& matrix,
                  FloatRows projected, FloatRows hidden) {
  ThreadScratch& scratch = context.scratch();
  // Every thread takes its share of the live columns, for all rows; then of the rows.
  const Range mine = context.team.Share(FindNonzero(context, in));
  Count(context, in, mine);
  const kernels::ColumnArgs args{.columns = matrix.tiles.data(),
                                 .num_panels = matrix.num_tiles,
                                 .live = scratch.live.data() + mine.begin,
                                 .count = mine.end - mine.begin,
                                 .acts = in.values(),
                                 .act_stride = in.padded_cols(),
                                 .num_tokens = in.count,
                                 .sums = scratch.partial.data()};
  context.weights.kernels->sparse().gemv_columns(&args);
  context.team.Barrier();
  const Range tiles = context.team.Share(quant::TilesOfRows(matrix.parts[0].rows));
  const std::size_t first = tiles.begin * kTileRows;
  const std::size_t end = std::min(tiles.end * kTileRows, matrix.parts[0].rows);
  const MatrixProduct product{context, in, matrix, projected};
  for (std::size_t token = 0; token < in.count; ++token) {
    AddColumnSums(product, token, Range{first, end}, hidden);
  }
}

void QuantizeLive(const Context& context, std::size_t token, const float* x,
                  const ProjectionInput& input, const QuantizedRows& out, LiveInputs* live) {
  const std::int8_t* row = QuantizeRow(context, token, x, input, out);
  live->counts[token] =
      context.weights.kernels->sparse().find_nonzero(row, out.cols, live->row(token));
}

void DownOfBatch(const Context& context, const QuantizedRows& in, const LiveInputs& live,
                 const TernaryMatrix& matrix, FloatRows projected) {
  const MatrixProduct product{context, in, matrix, projected};
  std::size_t count = 0;
  for (std::size_t token = 0; token < in.count; ++token) count += live.counts[token];
  const std::size_t all = in.count * matrix.cols;
  const bool dense = !PaysToSkip(static_cast<double>(count) / static_cast<double>(all),
                                 context.weights.kernels->sparse().column_cost * GemmGain(product));
  if (context.team.index() == 0) {
    context.scratch().skips.down_products.Add(all, dense ? all : count);
  }
  if (dense) {
    ForTokens(context, in.count, [&](std::size_t token) { JoinPanel(in.plain(token), token, in); });
    return Gemm(product);
  }
  // Sums of as many tokens at once as the scratch memory holds.
  const std::size_t at_once = std::max<std::size_t>(1, context.scratch().sums.size() / kPanelRows);
  // Parts of a panel's tokens: enough for every thread to have some eight pieces. A thread that
  // helps with a panel gathers it again.
  const std::size_t parts =
      std::min(in.count, 1 + 8 * static_cast<std::size_t>(context.team.size()) /
                                 std::max<std::size_t>(1, matrix.num_tiles));
  std::uint8_t* lines = context.scratch().tiles.data();
  std::size_t gathered = matrix.num_tiles;  // none yet
  context.team.Deal(matrix.num_tiles * parts, 1, [&](Range pieces) {
    for (std::size_t piece = pieces.begin; piece < pieces.end; ++piece) {
      const std::size_t panel = piece / parts, part = piece % parts;
      if (panel != gathered) GatherPanel(matrix, panel, lines);
      gathered = panel;
      const std::size_t end = in.count * (part + 1) / parts;
      for (std::size_t t = in.count * part / parts; t < end; t += at_once) {
        MultiplyLiveColumns(product, live, panel, lines, Range{t, std::min(end, t + at_once)});
      }
    }
  });
}

}  // namespace bittern::model
