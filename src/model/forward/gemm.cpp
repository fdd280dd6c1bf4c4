// SPDX-License-Identifier: Apache-2.0
// Batches of more than a few tokens. One of two kernels takes all tokens at once:
//   multiply-adds (Tile16Ops::gemm) take two tiles of 16 rows; a weight is unpacked once for
//   several tokens;
//   tables across tokens (VlutOps) take 32 tokens and up to 1,792 rows, because every row shares
//   the cost of the tables.
// Both sums are exact, so the choice changes speed only. Matrices with scales of groups come here
// for tables alone, with a vector for each digit of a token. The tokens of an expert lie anywhere
// in the batch and are gathered first. Layouts that are not Tile16 are turned into it a piece at a
// time, in scratch memory that stays in cache. Threads take pieces by Team::Deal, so one that is
// held up is helped by the others.
#include "model/forward/gemm.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/registry.hpp"
#include "quant/layouts/skip_layouts.hpp"
#include "quant/layouts/tile16.hpp"
#include "quant/layouts/tile48.hpp"

namespace bittern::model {
namespace {

using kernels::kGemmTiles;
using kernels::kVlutTokens;
using quant::kTileRows;

constexpr std::size_t kTilesOf48 = quant::kTile48Rows / kTileRows;    // of a tile of 48 rows
constexpr std::size_t kTilesOfPanel = quant::kPanelRows / kTileRows;  // of a panel of columns

std::size_t RoundUp(std::size_t value, std::size_t to) { return (value + to - 1) / to * to; }

/// Both digits of a token share a lane of the tables.
bool JoinsDigits(const Context& context, std::size_t digits) noexcept {
  return context.config.activation_bits == 10 && digits == 2;
}

/// Tokens of one digit or two that meet some rows of a matrix at once.
struct BatchSize {
  std::size_t tokens, digits, rows;
};

/// Sixteen lanes take more than half of the time of 32.
double CostOfHalf(const TernaryMatrix& matrix) noexcept { return matrix.grouped() ? 0.7 : 0.55; }

/// The speed of tables, with a token in each lane and `rows` rows to share them, beside
/// multiply-adds.
double SpeedOfTables(const Context& context, const TernaryMatrix& matrix,
                     std::size_t rows) noexcept {
  const Weights& weights = context.weights;
  const auto shared =
      static_cast<double>(rows) / static_cast<double>(rows + kernels::kVlutTableRows);
  return (matrix.grouped() ? weights.grouped_vlut_gain : weights.vlut_gain) * shared;
}

/// The same of a batch. Tables are taken where it is above 1.
double GainOfTables(const Context& context, const TernaryMatrix& matrix,
                    const BatchSize& size) noexcept {
  // Tiles that are made first leave the first-level cache; in passes of 32 tokens.
  constexpr double kCostOfMaking = 0.14;
  const std::size_t vectors = size.tokens * size.digits;
  const std::size_t lanes = JoinsDigits(context, size.digits) ? size.tokens : vectors;
  const std::size_t whole = lanes / kVlutTokens, rest = lanes % kVlutTokens;
  const double cost = static_cast<double>(whole) +
                      (rest == 0                 ? 0  // lanes without a token take their time
                       : rest <= kVlutTokens / 2 ? CostOfHalf(matrix)
                                                 : 1) +
                      (matrix.layout == MatrixLayout::kTile16 ? 0 : kCostOfMaking);
  const auto work = static_cast<double>(vectors) / kVlutTokens;
  return SpeedOfTables(context, matrix, size.rows) * work / cost;
}

/// The same of a batch whose matrix is dealt out in pieces of `rows`.
double GainOfTables(const MatrixProduct& product, std::size_t rows) noexcept {
  return GainOfTables(product.context, product.matrix,
                      {product.in.count, product.in.digits(), rows});
}

/// Tiles of 16 rows in a piece, if the matrix is taken by tables: as many pieces for each thread.
std::size_t TilesByTables(const MatrixProduct& product) noexcept {
  const TernaryMatrix& matrix = product.matrix;
  if (matrix.layout == MatrixLayout::kColumns) return kTilesOfPanel;
  const std::size_t all = matrix.padded_rows() / kTileRows;
  const std::size_t most = matrix.layout != MatrixLayout::kTile16 ? kMostMadeTiles
                           : matrix.grouped()                     ? kMostGroupedTiles
                                                                  : kMostTableTiles;
  const std::size_t pieces =
      RoundUp((all + most - 1) / most, static_cast<std::size_t>(product.context.team.size()));
  const std::size_t tiles = std::max<std::size_t>(1, (all + pieces - 1) / pieces);
  return matrix.layout == MatrixLayout::kTile48 ? RoundUp(tiles, kTilesOf48) : tiles;
}

/// How the batch meets a matrix: all threads of a pass get the same.
struct Plan {
  bool by_tables;
  std::size_t tiles;        ///< of 16 rows, in a piece
  std::size_t pieces;       ///< of the rows
  std::size_t parts;        ///< of the tokens
  std::size_t part_tokens;  ///< in a part, a multiple of kVlutTokens
};

Plan PlanOf(const MatrixProduct& product) noexcept {
  const TernaryMatrix& matrix = product.matrix;
  const std::size_t by_tables = TilesByTables(product);
  Plan plan{.by_tables = GainOfTables(product, by_tables * kTileRows) > 1,
            .tiles = matrix.layout == MatrixLayout::kTile48 ? 2 * kTilesOf48 : kGemmTiles,
            .pieces = 1,
            .parts = 1,
            .part_tokens = RoundUp(product.in.count, kVlutTokens)};
  if (plan.by_tables) plan.tiles = by_tables;
  plan.pieces = (matrix.padded_rows() / kTileRows + plan.tiles - 1) / plan.tiles;
  if (!plan.by_tables) return plan;
  // A piece by tables is long, so it is dealt out in parts: some eight items for a thread.
  const std::size_t blocks = plan.part_tokens / kVlutTokens;
  const auto threads = static_cast<std::size_t>(product.context.team.size());
  const std::size_t wanted = 8 * threads / plan.pieces + 1;
  const std::size_t blocks_of_part = (blocks + wanted - 1) / wanted;
  plan.part_tokens = blocks_of_part * kVlutTokens;
  plan.parts = (blocks + blocks_of_part - 1) / blocks_of_part;
  return plan;
}

/// Tiles of a matrix as Tile16. What is made from another layout stays in scratch.tiles, so that
/// the same tiles can meet more tokens. One a thread and matrix.
class Tile16View {
 public:
  explicit Tile16View(const MatrixProduct& product)
      : context_(product.context),
        matrix_(product.matrix),
        tile_bytes_(quant::TileBytes(matrix_.cols)) {}

  /// Tiles [first, first + count): of kTile48 whole tiles of 48 rows; of kColumns tiles of one
  /// panel; at most kMostMadeTiles unless the layout is kTile16.
  const std::uint8_t* Get(std::size_t first, std::size_t count) {
    if (matrix_.layout == MatrixLayout::kTile16) return matrix_.tiles.data() + first * tile_bytes_;
    std::uint8_t* made = context_.scratch().tiles.data();
    const bool columns = matrix_.layout == MatrixLayout::kColumns;
    const std::size_t begin = columns ? first / kTilesOfPanel * kTilesOfPanel : first;
    const Range wanted{begin, columns ? begin + kTilesOfPanel : first + count};
    if (made_.begin != wanted.begin || made_.end != wanted.end) Make(wanted, made);
    made_ = wanted;
    return made + (first - begin) * tile_bytes_;
  }

 private:
  void Make(Range tiles, std::uint8_t* made) const {
    const kernels::Kernels& kernels = *context_.weights.kernels;
    if (matrix_.layout == MatrixLayout::kColumns) {
      const TilePlace place =
          PlaceOfTile(matrix_.layout, matrix_.cols, matrix_.num_tiles, tiles.begin / kTilesOfPanel);
      return kernels.sparse().tiles_of_columns(matrix_.tiles.data() + place.offset,
                                               place.column_bytes, matrix_.num_blocks, made);
    }
    const bool of_48 = matrix_.layout == MatrixLayout::kTile48;
    const std::size_t step = of_48 ? kTilesOf48 : 1;
    const std::size_t bytes = TileBytes(matrix_.layout, matrix_.cols);
    const auto make = of_48 ? kernels.tile48().to_tile16 : kernels.sparse().tile_of_rows;
    for (std::size_t t = tiles.begin; t < tiles.end; t += step) {
      make(matrix_.tiles.data() + t / step * bytes, matrix_.num_blocks,
           made + (t - tiles.begin) * tile_bytes_);
    }
  }

  const Context& context_;
  const TernaryMatrix& matrix_;
  const std::size_t tile_bytes_;
  Range made_{0, 0};
};

/// Rows tile * 16 on of a matrix, as `count` tiles of Tile16.
struct Rows {
  const std::uint8_t* tiles;
  std::size_t tile, count;
};

/// Two tiles at a time, times all of the tokens.
void MultiplyAdd(const MatrixProduct& product, const Rows& rows, Range tokens) {
  const auto& [context, in, matrix, out] = product;
  ThreadScratch& scratch = context.scratch();
  for (std::size_t t = 0; t < rows.count; t += kGemmTiles) {
    const std::size_t now = std::min(kGemmTiles, rows.count - t), stride = now * kTileRows;
    context.weights.kernels->tile16().gemm(rows.tiles + t * quant::TileBytes(matrix.cols), now,
                                           matrix.num_blocks, in.values(tokens.begin),
                                           in.sums(tokens.begin), tokens.end - tokens.begin,
                                           scratch.sums.data(), stride, scratch.codes.data());
    const std::size_t row = (rows.tile + t) * kTileRows;
    RescaleRows(product, tokens, Range{row, row + stride}, scratch.sums.data(), stride);
  }
}

/// All of the tiles, times 32 tokens at a time.
void LookUp(const MatrixProduct& product, const Rows& rows, Range tokens) {
  const auto& [context, in, matrix, out] = product;
  ThreadScratch& scratch = context.scratch();
  const std::size_t count = rows.count * kTileRows, row = rows.tile * kTileRows;
  for (std::size_t token = tokens.begin; token < tokens.end; token += kVlutTokens) {
    const std::size_t now = std::min(kVlutTokens, tokens.end - token);
    const kernels::VlutArgs args{.tiles = rows.tiles,
                                 .num_tiles = rows.count,
                                 .num_blocks = matrix.num_blocks,
                                 .panels = in.values(token),
                                 .num_tokens = now,
                                 .out = scratch.sums.data(),
                                 .out_stride = count,
                                 .scratch = scratch.codes.data()};
    context.weights.kernels->vlut().gemm(&args);
    RescaleRows(product, Range{token, token + now}, Range{row, row + count}, scratch.sums.data(),
                count);
  }
}

/// The same of a matrix with scales of groups.
void LookUpGroups(const MatrixProduct& product, const Rows& rows, Range tokens) {
  const auto& [context, in, matrix, out] = product;
  const std::size_t of_tile = TileRows(matrix.layout) / kTileRows;
  const Range tiles{rows.tile / of_tile, (rows.tile + rows.count) / of_tile};
  const float* scales = GroupScalesOf(context, matrix, tiles);
  const bool joined = JoinsDigits(context, in.digits());
  const std::size_t at_once = joined ? kVlutTokens : kVlutTokens / in.digits();
  for (std::size_t token = tokens.begin; token < tokens.end; token += at_once) {
    const std::size_t now = std::min(at_once, tokens.end - token), first = in.row_of(token);
    const std::size_t last_digit = first + in.digits() - 1;
    const kernels::GroupedVlutArgs args{.tiles = rows.tiles,
                                        .num_tiles = rows.count,
                                        .num_blocks = matrix.num_blocks,
                                        .weight_scales = scales,
                                        .scales_per_block = matrix.scales_per_block,
                                        .panels = in.values(first),
                                        .act_scales = in.group_scales(last_digit),
                                        .act_scales_stride = in.memory.groups * in.digits(),
                                        .num_tokens = in.row_of(now),
                                        .digits = in.digits(),
                                        .joined = joined,
                                        .out = out.row(token) + rows.tile * kTileRows,
                                        .out_stride = out.stride,
                                        .scratch = context.scratch().codes.data()};
    context.weights.kernels->vlut().gemm_grouped(&args);
  }
}

/// Copies tokens from anywhere in a batch into panels, with all of their digits, and zeros up to
/// whole panels. step: bytes from four columns of a token to its next four.
template <std::size_t kDigits>
void GatherPanels(std::span<const kernels::GroupedToken> tokens, std::size_t step,
                  std::size_t padded_cols, std::int8_t* panels) {
  constexpr std::size_t kBytes = 4 * kDigits, kTokens = kernels::kPanelTokens / kDigits;
  for (std::size_t first = 0; first < tokens.size(); first += kTokens) {
    const std::size_t count = std::min(kTokens, tokens.size() - first);
    for (std::size_t c = 0; c < padded_cols / 4; ++c, panels += kTokens * kBytes) {
      for (std::size_t i = 0; i < count; ++i) {
        const kernels::GroupedToken& token = tokens[first + i];
        std::memcpy(panels + i * kBytes, token.act + c * step, 4);
        if constexpr (kDigits == 2) {
          std::memcpy(panels + i * kBytes + 4, token.low + c * step, 4);
        }
      }
      std::memset(panels + count * kBytes, 0, (kTokens - count) * kBytes);
    }
  }
}

/// An item, its rows in pieces of the plan.
void Multiply(const MatrixProduct& product, const Plan& plan, const GemmItem& item,
              Tile16View* tiles16) {
  const std::size_t end = item.rows.end / kTileRows;
  for (std::size_t tile = item.rows.begin / kTileRows; tile < end; tile += plan.tiles) {
    const std::size_t count = std::min(plan.tiles, end - tile);
    const Rows rows{tiles16->Get(tile, count), tile, count};
    const auto by_tables = product.matrix.grouped() ? LookUpGroups : LookUp;
    (plan.by_tables ? by_tables : MultiplyAdd)(product, rows, item.tokens);
  }
}

GemmItem ItemAt(const MatrixProduct& product, const Plan& plan, std::size_t index) noexcept {
  const std::size_t row = index / plan.parts * plan.tiles * kTileRows;
  const std::size_t token = index % plan.parts * plan.part_tokens;
  return {Range{row, std::min(row + plan.tiles * kTileRows, product.matrix.padded_rows())},
          Range{token, std::min(token + plan.part_tokens, product.in.count)}};
}

}  // namespace

double GemmGain(const MatrixProduct& product) noexcept {
  constexpr double kMost = 8;  // where tables are forced, zeros are still left out
  return std::clamp(GainOfTables(product, TilesByTables(product) * kTileRows), 1.0, kMost);
}

std::size_t GemmItems(const MatrixProduct& product) noexcept {
  const Plan plan = PlanOf(product);
  return plan.pieces * plan.parts;
}

bool TablesAreFaster(const Context& context, const TernaryMatrix& matrix, const QuantizedRows& in,
                     std::size_t tokens, std::size_t rows) noexcept {
  return matrix.layout == MatrixLayout::kTile16 && !in.is_decode() &&
         GainOfTables(context, matrix, {tokens, in.digits(), rows}) > 1;
}

std::size_t TokensByTables(const TilesOfMatrix& of, const QuantizedRows& in,
                           std::size_t count) noexcept {
  const std::size_t digits = in.digits(), rows = (of.tiles.end - of.tiles.begin) * kTileRows;
  const std::size_t at_once = JoinsDigits(of.context, digits) ? kVlutTokens : kVlutTokens / digits;
  const std::size_t half = at_once / 2, rest = count % at_once;
  const std::size_t left = rest > half ? rest - half : rest;
  const double saved = rest > half ? 1 - CostOfHalf(of.matrix) : CostOfHalf(of.matrix);
  const auto work = static_cast<double>(left * digits) / kVlutTokens;
  return SpeedOfTables(of.context, of.matrix, rows) * work < saved ? count - left : count;
}

void LookUpTokens(const TilesOfMatrix& of, std::span<const kernels::GroupedToken> tokens,
                  std::size_t step) {
  if (tokens.empty()) return;
  const auto& [context, matrix, tiles, scales] = of;
  ThreadScratch& scratch = context.scratch();
  GatheredTokens& gathered = scratch.gathered;
  const std::size_t digits = tokens.front().low == nullptr ? 1 : 2;
  const std::size_t rows = (tiles.end - tiles.begin) * kTileRows;
  const std::size_t groups = matrix.num_blocks * (quant::kTileBlock / kernels::kGroupCols);
  const bool joined = JoinsDigits(context, digits);
  const std::size_t at_once = joined ? kVlutTokens : kVlutTokens / digits;
  for (std::size_t first = 0; first < tokens.size(); first += at_once) {
    const auto now = tokens.subspan(first, std::min(at_once, tokens.size() - first));
    const auto gather = digits == 1 ? GatherPanels<1> : GatherPanels<2>;
    gather(now, step, matrix.num_blocks * quant::kTileBlock, gathered.panels.data());
    for (std::size_t i = 0; i < now.size(); ++i) {
      std::copy_n(now[i].act_scales, groups, gathered.scales.data() + i * groups);
    }
    const kernels::GroupedVlutArgs args{
        .tiles = matrix.tiles.data() + tiles.begin * quant::TileBytes(matrix.cols),
        .num_tiles = tiles.end - tiles.begin,
        .num_blocks = matrix.num_blocks,
        .weight_scales = scales,
        .scales_per_block = matrix.scales_per_block,
        .panels = gathered.panels.data(),
        .act_scales = gathered.scales.data(),
        .act_scales_stride = groups,
        .num_tokens = now.size() * digits,
        .digits = digits,
        .joined = joined,
        .out = gathered.products.data(),
        .out_stride = rows,
        .scratch = scratch.codes.data()};
    context.weights.kernels->vlut().gemm_grouped(&args);
    for (std::size_t i = 0; i < now.size(); ++i) {
      std::copy_n(gathered.products.data() + i * rows, rows, now[i].out);
    }
  }
}

GemmItem GemmItemAt(const MatrixProduct& product, std::size_t index) noexcept {
  return ItemAt(product, PlanOf(product), index);
}

void GemmPart(const MatrixProduct& product, const GemmItem& item) {
  Tile16View tiles16(product);
  Multiply(product, PlanOf(product), item, &tiles16);
}

void Gemm(const MatrixProduct& product) {
  const Plan plan = PlanOf(product);
  // Half a panel of columns at a time: a thread that helps makes the panel again.
  const bool halves = product.matrix.layout == MatrixLayout::kColumns && !plan.by_tables;
  Tile16View tiles16(product);
  product.context.team.Deal(plan.pieces * plan.parts, halves ? kTilesOfPanel / kGemmTiles / 2 : 1,
                            [&](Range items) {
                              for (std::size_t i = items.begin; i < items.end; ++i) {
                                Multiply(product, plan, ItemAt(product, plan, i), &tiles16);
                              }
                            });
}

}  // namespace bittern::model
