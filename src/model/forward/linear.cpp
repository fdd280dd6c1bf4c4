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

using quant::kTileRows;

/// A token's activations as a plain row of `size` values, 0 past the columns.
void CopyRow(const QuantizedRows& in, std::size_t token, std::size_t size, std::int8_t* row) {
  const std::size_t padded_cols = in.padded_cols(), step = in.step();
  std::fill(row + padded_cols, row + std::max(size, padded_cols), std::int8_t{0});
  if (in.is_decode()) {
    std::memcpy(row, in.plain(token), padded_cols);
    return;
  }
  const std::int8_t* from = in.at(token);
  for (std::size_t c = 0; c < padded_cols; c += 4, from += step) std::memcpy(row + c, from, 4);
}

/// Lookup kernels: tables for a few tokens at a time, then every tile against them.
void GemvLut(const MatrixProduct& product) {
  const auto& [context, in, matrix, out] = product;
  const quant::LutKind kind = LutKindOf(matrix.layout);
  const bool pairs = kind == quant::LutKind::kTl1;
  const kernels::LutOps& ops =
      pairs ? context.weights.kernels->tl1() : context.weights.kernels->tl2();
  const std::size_t steps = quant::LutSteps(kind, matrix.cols);
  const std::size_t table_bytes =
      steps * (pairs ? kernels::kTl1TableBytes : kernels::kTl2TableBytes);
  const std::size_t tile_bytes = quant::LutTileBytes(kind, matrix.cols);
  ThreadScratch& scratch = context.scratch();
  const Range tiles = context.team.Share(matrix.num_tiles);
  for (std::size_t first = 0; first < in.count; first += kLutTokens) {
    const std::size_t count = std::min(kLutTokens, in.count - first);
    for (std::size_t i = 0; i < count; ++i) {
      CopyRow(in, first + i, steps * quant::LutStepCols(kind), scratch.row.data());
      ops.build(scratch.row.data(), steps, scratch.tables.data() + i * table_bytes);
    }
    // One tile stays in cache for all of them; a single token takes its tiles in one go.
    const std::size_t at_once = count == 1 ? tiles.end - tiles.begin : 1;
    for (std::size_t tile = tiles.begin; tile < tiles.end; tile += at_once) {
      for (std::size_t i = 0; i < count; ++i) {
        ops.gemv(matrix.tiles.data() + tile * tile_bytes, at_once, steps,
                 scratch.tables.data() + i * table_bytes, scratch.sums.data());
        RescaleRows(product, Range{first + i, first + i + 1},
                    Range{tile * quant::kLutRows, (tile + at_once) * quant::kLutRows},
                    scratch.sums.data(), 0);
      }
    }
  }
}

/// Scales that differ along the row: tiles dealt out, a few at a time against every token.
void LinearGrouped(const MatrixProduct& product) {
  const Context& context = product.context;
  const auto& in = product.in;
  const auto& matrix = product.matrix;
  const std::size_t rows = TileRows(matrix.layout), at_once = kGroupedTiles * kTileRows / rows;
  context.team.Deal(matrix.num_tiles, at_once, [&](Range dealt) {
    for (std::size_t tile = dealt.begin; tile < dealt.end; tile += at_once) {
      const Range few{tile, std::min(tile + at_once, dealt.end)};
      GroupedTokens tokens(context, in);
      for (std::size_t token = 0; token < in.count; ++token) {
        tokens.Add(token, 0, product.out.row(token) + tile * rows);
      }
      tokens.Multiply({context, matrix, few, GroupScalesOf(context, matrix, few)});
    }
  });
}

/// One scale for the whole token, as BitNet is trained; sums of groups where a matrix wants them.
/// Returns the scale; 0: x is not finite.
float QuantizeWhole(const Context& context, std::size_t token, const float* x,
                    const QuantizedRows& out, std::int8_t* row) {
  const float scale = *out.scales(token) =
      context.floats().quantize_absmax(x, out.cols, row, out.sums(token));
  for (std::size_t g = 0; g * kernels::kGroupCols < out.cols && out.memory.groups != 0; ++g) {
    const std::size_t begin = g * kernels::kGroupCols;
    const std::size_t end = std::min(begin + kernels::kGroupCols, out.cols);
    out.group_sums(token)[g] = std::accumulate(row + begin, row + end, std::int32_t{0});
    out.group_scales(token)[g] = 1.0f / scale;
  }
  return scale;
}

/// A scale for every group of 64 columns. Returns the least; 0: x is not finite.
float QuantizeGroups(const Context& context, std::size_t token, const float* x,
                     const QuantizedRows& out, std::int8_t* row) {
  float least = std::numeric_limits<float>::max();
  for (std::size_t g = 0; g * kernels::kGroupCols < out.cols; ++g) {
    const std::size_t begin = g * kernels::kGroupCols;
    const std::size_t count = std::min(kernels::kGroupCols, out.cols - begin);
    const float scale =
        context.floats().quantize_absmax(x + begin, count, row + begin, out.group_sums(token) + g);
    out.group_scales(token)[g] = 1.0f / scale;
    least = std::min(least, scale);
  }
  return least;
}

/// The same to 10 or 16 bits, as two rows of digits, the second of which has the sums of both.
/// Returns the least scale, as of 8 bits.
float QuantizeWideGroups(const Context& context, std::size_t token, const float* x,
                         const QuantizedRows& out, std::int8_t* row) {
  constexpr float kBase = kernels::kDigitBase;
  const std::size_t high = out.row_of(token), low = high + 1;
  const std::int32_t most =
      context.config.activation_bits == 10 ? kernels::kMost10Bits : kernels::kMost16Bits;
  float least = std::numeric_limits<float>::max();
  for (std::size_t g = 0; g * kernels::kGroupCols < out.cols; ++g) {
    const std::size_t begin = g * kernels::kGroupCols;
    const std::size_t count = std::min(kernels::kGroupCols, out.cols - begin);
    const float scale =
        context.floats().quantize_digits(x + begin, count, most, row + begin,
                                         row + out.padded_cols() + begin, out.group_sums(low) + g);
    out.group_scales(high)[g] = kBase / scale;
    out.group_scales(low)[g] = 1.0f / scale;
    least = std::min(least, scale * (127.0f / static_cast<float>(most)));
  }
  return least;
}

/// Rows of zeros, whose products are zeros.
void QuantizeToZeros(std::size_t token, const QuantizedRows& out, std::int8_t* row) {
  *out.scales(token) = 1;
  *out.sums(token) = 0;
  for (std::size_t digit = 0; digit < out.digits(); ++digit) {
    std::fill_n(row + digit * out.padded_cols(), out.cols, std::int8_t{0});
    std::fill_n(out.group_sums(out.row_of(token) + digit), out.memory.groups, 0);
    std::fill_n(out.group_scales(out.row_of(token) + digit), out.memory.groups, 0.0f);
  }
}

/// Zeros behind the columns, up to whole blocks, the last of which may have a group of none.
void PadRow(std::size_t row, const QuantizedRows& out, std::int8_t* values) {
  std::fill(values + out.cols, values + out.padded_cols(), std::int8_t{0});
  if (out.memory.groups == 0) return;
  const std::size_t used = (out.cols + kernels::kGroupCols - 1) / kernels::kGroupCols;
  for (std::size_t g = used; g < out.padded_cols() / kernels::kGroupCols; ++g) {
    out.group_sums(row)[g] = 0;
    out.group_scales(row)[g] = 0;
  }
}

}  // namespace

const float* GroupScalesOf(const Context& context, const TernaryMatrix& matrix, Range tiles) {
  const std::size_t of_tile = TileRows(matrix.layout) / kTileRows * matrix.scales_of_16();
  if (matrix.half_scales.size() == 0) return matrix.group_scales.data() + tiles.begin * of_tile;
  float* scales = context.scratch().scales.data();
  context.floats().widen_half(matrix.half_scales.data() + tiles.begin * of_tile,
                              (tiles.end - tiles.begin) * of_tile, scales);
  return scales;
}

namespace {

/// A token's activations from a column on (a multiple of 128).
kernels::GroupedToken GroupedTokenAt(const QuantizedRows& in, std::size_t token,
                                     std::size_t first_col, float* out) noexcept {
  const std::size_t first_group = first_col / kernels::kGroupCols;
  const std::size_t first = in.row_of(token), last = first + in.digits() - 1;
  const std::size_t at = first_col / 4 * in.step();
  return {.act = in.at(first) + at,
          .act_sums = in.group_sums(last) + first_group,
          .act_scales = in.group_scales(last) + first_group,
          .out = out,
          .low = in.digits() == 1 ? nullptr : in.at(last) + at};
}

}  // namespace

void GroupedTokens::Add(std::size_t token, std::size_t first_col, float* out) noexcept {
  context_.scratch().grouped.data()[num_tokens_++] = GroupedTokenAt(in_, token, first_col, out);
}

void GroupedTokens::Multiply(const TilesOfMatrix& of) const {
  ThreadScratch& scratch = context_.scratch();
  const GroupedRows rows{{scratch.grouped.data(), num_tokens_}, in_.step()};
  MultiplyGrouped(*context_.weights.kernels, of.matrix, of.tiles, of.scales, rows,
                  {scratch.codes.data(), scratch.tiles.data()});
}

void GroupedTokens::LookUp(const TilesOfMatrix& of) const {
  const auto& [context, matrix, tiles, scales] = of;
  ThreadScratch& scratch = context_.scratch();
  const std::span tokens(scratch.grouped.data(), num_tokens_);
  const std::size_t by_tables = TokensByTables(of, in_, num_tokens_);
  LookUpTokens(of, tokens.first(by_tables), in_.step());
  const std::span rest = tokens.subspan(by_tables);
  if (rest.empty()) return;
  for (std::size_t tile = tiles.begin, count; tile < tiles.end; tile += count) {
    count = std::min(kGroupedTiles, tiles.end - tile);
    MultiplyGrouped(*context.weights.kernels, matrix, {tile, tile + count},
                    scales + (tile - tiles.begin) * matrix.scales_of_16(), {rest, in_.step()},
                    {scratch.codes.data(), scratch.tiles.data()});
    for (kernels::GroupedToken& token : rest) token.out += count * quant::kTileRows;
  }
}

const kernels::FloatOps& Context::floats() const noexcept { return weights.kernels->float32(); }

void JoinPanel(const std::int8_t* row, std::size_t token, const QuantizedRows& out) {
  std::int8_t* to = out.at(token);
  const std::size_t padded_cols = out.padded_cols(), step = out.step();
  for (std::size_t c = 0; c < padded_cols; c += 4, to += step) std::memcpy(to, row + c, 4);
}

void RecordFailure(const Context& context, std::size_t token, const RowFailure& failure) {
  auto& first = context.state.failures[token];
  if (!first) first = failure;
}

const float* RotateInput(const Context& context, const float* x, std::size_t cols,
                         bool delta_values) {
  const HadamardRotation& rotation = context.weights.rotation;
  if (rotation.empty()) return x;
  float* rotated = context.scratch().rotated.data();
  if (delta_values && rotation.values_by_key) {
    const DeltaShape& delta = context.config.delta;
    const auto keys = static_cast<std::size_t>(delta.key_heads);
    const auto dim = static_cast<std::size_t>(delta.head_dim);
    const std::size_t heads_of_key = cols / dim / keys;
    for (std::size_t head = 0; head < cols / dim; ++head) {
      const std::size_t place = head % keys * heads_of_key + head / keys;
      std::memcpy(rotated + place * dim, x + head * dim, dim * sizeof(float));
    }
    x = rotated;
  }
  context.floats().hadamard(x, rotation.WeightsOf(cols), cols, rotation.block, rotated);
  return rotated;
}

std::int8_t* QuantizeRow(const Context& context, std::size_t token, const float* x,
                         const ProjectionInput& input, const QuantizedRows& out) {
  x = RotateInput(context, x, out.cols, input.delta_values);
  const std::size_t first = out.row_of(token);
  std::int8_t* row = out.has_plain() ? out.plain(first) : context.scratch().row.data();
  const bool groups = context.config.grouped_activations && out.memory.groups != 0;
  const auto quantize = out.digits() > 1 ? QuantizeWideGroups
                        : groups         ? QuantizeGroups
                                         : QuantizeWhole;
  const float scale = quantize(context, token, x, out, row);
  if (scale < input.limit) {
    RecordFailure(context, out.token(token), scale == 0 ? input.from : input.to);
    QuantizeToZeros(token, out, row);
  }
  for (std::size_t digit = 0; digit < out.digits(); ++digit) {
    PadRow(first + digit, out, row + digit * out.padded_cols());
  }
  return row;
}

void QuantizeToken(const Context& context, std::size_t token, const float* x,
                   const ProjectionInput& input, const QuantizedRows& out) {
  const std::int8_t* row = QuantizeRow(context, token, x, input, out);
  for (std::size_t digit = 0; digit < out.digits() && !out.is_decode(); ++digit) {
    JoinPanel(row + digit * out.padded_cols(), out.row_of(token) + digit, out);
  }
}

void RescaleRows(const MatrixProduct& product, Range tokens, Range rows, const std::int32_t* sums,
                 std::size_t sums_stride) {
  const auto& [context, in, matrix, out] = product;
  for (const TernaryMatrix::Part& part : matrix.parts) {
    const std::size_t begin = std::max(rows.begin, part.first_row);
    const std::size_t end = std::min(rows.end, part.first_row + part.rows);
    if (begin >= end) continue;
    const float* row_scales =
        part.row_scales.empty() ? nullptr : part.row_scales.data() + (begin - part.first_row);
    const kernels::RescaleArgs args{.sums = sums + (begin - rows.begin),
                                    .sums_stride = sums_stride,
                                    .num_rows = end - begin,
                                    .num_tokens = tokens.end - tokens.begin,
                                    .act_scales = in.scales(tokens.begin),
                                    .weight_scale = part.scale,
                                    .row_scales = row_scales,
                                    .out = out.row(tokens.begin) + begin,
                                    .out_stride = out.stride};
    context.floats().rescale(&args);
  }
}

namespace {

/// sums[token * count * TileRows + r] = tiles of a matrix times every token's activations.
void SumTiles(const MatrixProduct& product, Range tiles, std::int32_t* sums) {
  const auto& [context, in, matrix, out] = product;
  const kernels::Kernels& kernels = *context.weights.kernels;
  const std::size_t count = tiles.end - tiles.begin;
  const kernels::FewArgs args{
      .tiles = matrix.tiles.data() + tiles.begin * TileBytes(matrix.layout, matrix.cols),
      .num_tiles = count,
      .num_blocks = matrix.num_blocks,
      .acts = in.values(),
      .act_stride = in.padded_cols(),
      .num_tokens = in.count,
      .act_sums = in.sums(),
      .out = sums,
      .out_stride = count * TileRows(matrix.layout)};
  (matrix.layout == MatrixLayout::kTile48 ? kernels.tile48().gemv : kernels.tile16().gemv)(&args);
}

}  // namespace

std::size_t TilesAtOnce(const TernaryMatrix& matrix) noexcept {
  constexpr std::size_t kBytes = std::size_t{64} << 10;  // some microseconds
  return std::max<std::size_t>(1, kBytes / TileBytes(matrix.layout, matrix.cols));
}

void LinearTiles(const MatrixProduct& product, Range tiles) {
  const std::size_t rows = TileRows(product.matrix.layout);
  std::int32_t* sums = product.context.scratch().sums.data();
  SumTiles(product, tiles, sums);
  RescaleRows(product, Range{0, product.in.count}, Range{tiles.begin * rows, tiles.end * rows},
              sums, (tiles.end - tiles.begin) * rows);
}

void Linear(const Context& context, const QuantizedRows& in, const TernaryMatrix& matrix,
            FloatRows out) {
  const MatrixProduct product{context, in, matrix, out};
  if (matrix.grouped() && (in.is_decode() || GemmGain(product) <= 1)) {
    LinearGrouped(product);
  } else if (IsLut(matrix.layout)) {
    GemvLut(product);
  } else if (in.is_decode() && IsTiled(matrix.layout)) {
    context.team.Deal(matrix.num_tiles, TilesAtOnce(matrix),
                      [&](Range tiles) { LinearTiles(product, tiles); });
  } else {
    Gemm(product);
  }
}

}  // namespace bittern::model
