// SPDX-License-Identifier: Apache-2.0
// Batches of more than a few tokens. One of two kernels takes all tokens at once:
//   multiply-adds (Tile16Ops::gemm) take two tiles of 16 rows, so a weight is unpacked once;
//   tables across tokens (VlutOps::gemm) take 32 tokens and up to 1,024 rows, because every row
//   shares the cost of the tables.
// Both sums are exact, so the choice changes speed only. Layouts that are not Tile16 are turned
// into it a piece at a time, in scratch memory that stays in cache. Threads take pieces by
// Team::Deal, so one that is held up is helped by the others.
#include "model/forward/gemm.hpp"

#include <algorithm>

#include "model/forward/linear.hpp"
#include "quant/layouts/skip_layouts.hpp"
#include "quant/layouts/tile16.hpp"
#include "quant/layouts/tile48.hpp"

namespace bittern::model {
namespace {

using kernels::kGemmTiles;
using kernels::kVlutTokens;
using quant::kTileRows;

constexpr std::size_t kSixteens = quant::kTile48Rows / kTileRows;  // of a tile of 48

std::size_t RoundUp(std::size_t value, std::size_t to) { return (value + to - 1) / to * to; }

/// Tiles of 16 rows in a piece, if the matrix is taken by tables: as many pieces for each thread.
std::size_t TilesByTables(const Context& context, const TernaryMatrix& matrix) noexcept {
  const std::size_t all = matrix.padded_rows() / kTileRows;
  const std::size_t most =
      matrix.layout == MatrixLayout::kTile16 ? kMostTableTiles : kMostMadeTiles;
  const std::size_t pieces =
      RoundUp((all + most - 1) / most, static_cast<std::size_t>(context.team.size()));
  const std::size_t tiles = std::max<std::size_t>(1, (all + pieces - 1) / pieces);
  return matrix.layout == MatrixLayout::kTile48 ? RoundUp(tiles, kSixteens) : tiles;
}

/// Tiles of 16 rows in a piece.
std::size_t TilesOfPiece(const Context& context, const TernaryMatrix& matrix) noexcept {
  const std::size_t by_tables = TilesByTables(context, matrix);
  if (GainOfTables(context, by_tables * kTileRows) > 1) return by_tables;
  return matrix.layout == MatrixLayout::kTile48 ? 2 * kSixteens : kGemmTiles;
}

void MultiplyAdd(const Context& context, const TernaryMatrix& matrix, const std::uint8_t* tiles,
                 std::size_t tile, std::size_t count, float* out) {
  const QuantizedActivations& acts = context.state.activations;
  ThreadScratch& scratch = context.scratch();
  for (std::size_t t = 0; t < count; t += kGemmTiles) {
    const std::size_t now = std::min(kGemmTiles, count - t), stride = now * kTileRows;
    context.weights.kernels.tile16().gemm(
        tiles + t * quant::TileBytes(matrix.cols), now, matrix.num_blocks, acts.values.data(),
        acts.sums.data(), context.num_tokens, scratch.sums.data(), stride, scratch.codes.data());
    const std::size_t row = (tile + t) * kTileRows;
    RescaleRows(context, matrix, Range{0, context.num_tokens}, Range{row, row + stride},
                scratch.sums.data(), stride, out);
  }
}

void LookUp(const Context& context, const TernaryMatrix& matrix, const std::uint8_t* tiles,
            std::size_t tile, std::size_t count, float* out) {
  ThreadScratch& scratch = context.scratch();
  const std::size_t rows = count * kTileRows, row = tile * kTileRows;
  const std::size_t token_bytes = matrix.num_blocks * quant::kTileBlock;
  for (std::size_t token = 0; token < context.num_tokens; token += kVlutTokens) {
    const std::size_t tokens = std::min(kVlutTokens, context.num_tokens - token);
    const kernels::VlutArgs args{
        .tiles = tiles,
        .num_tiles = count,
        .num_blocks = matrix.num_blocks,
        .panels = context.state.activations.values.data() + token * token_bytes,
        .num_tokens = tokens,
        .out = scratch.sums.data(),
        .out_stride = rows,
        .scratch = scratch.codes.data()};
    context.weights.kernels.vlut().gemm(&args);
    RescaleRows(context, matrix, Range{token, token + tokens}, Range{row, row + rows},
                scratch.sums.data(), rows, out);
  }
}

/// `count` tiles, which are rows tile * 16 on of the matrix, against the batch: at most
/// kMostTableTiles.
void GemmTiles(const Context& context, const TernaryMatrix& matrix, const std::uint8_t* tiles,
               std::size_t tile, std::size_t count, float* out) {
  const bool by_tables = GainOfTables(context, count * kTileRows) > 1;
  (by_tables ? LookUp : MultiplyAdd)(context, matrix, tiles, tile, count, out);
}

/// Tiles [tile, tile + count) of layout kTile16 or kRows; of kRows at most kMostMadeTiles.
void GemmTilesAt(const Context& context, const TernaryMatrix& matrix, std::size_t tile,
                 std::size_t count, float* out) {
  const std::size_t tile_bytes = quant::TileBytes(matrix.cols);
  const std::uint8_t* tiles = matrix.tiles.data() + tile * tile_bytes;
  if (matrix.layout == MatrixLayout::kRows) {
    std::uint8_t* made = context.scratch().tiles.data();
    for (std::size_t t = 0; t < count; ++t) {
      context.weights.kernels.sparse().tile_of_rows(tiles + t * tile_bytes, matrix.num_blocks,
                                                    made + t * tile_bytes);
    }
    tiles = made;
  }
  GemmTiles(context, matrix, tiles, tile, count, out);
}

/// Tiles of 48 rows: at most kMostMadeTiles / kSixteens.
void GemmTiles48(const Context& context, const TernaryMatrix& matrix, Range tiles, float* out) {
  const std::size_t bytes = quant::Tile48Bytes(matrix.cols);
  const std::size_t made_bytes = quant::TileBytes(matrix.cols);
  std::uint8_t* made = context.scratch().tiles.data();
  for (std::size_t tile = tiles.begin; tile < tiles.end; ++tile) {
    context.weights.kernels.tile48().to_tile16(
        matrix.tiles.data() + tile * bytes, matrix.num_blocks,
        made + (tile - tiles.begin) * kSixteens * made_bytes);
  }
  GemmTiles(context, matrix, made, tiles.begin * kSixteens, (tiles.end - tiles.begin) * kSixteens,
            out);
}

/// From columns: a panel of 256 rows becomes sixteen tiles at a time. Multiply-adds take them two
/// by two, so that threads can share a panel; tables take them at once.
void GemmOfColumns(const Context& context, const TernaryMatrix& matrix, float* out) {
  constexpr std::size_t kTilesOfPanel = quant::kPanelRows / kTileRows;
  const bool by_tables = GainOfTables(context, quant::kPanelRows) > 1;
  const std::size_t tiles_of_group = by_tables ? kTilesOfPanel : kGemmTiles;
  const std::size_t groups_of_panel = kTilesOfPanel / tiles_of_group;
  // Half a panel at once: a thread that helps makes the panel again.
  const std::size_t groups_at_once = by_tables ? 1 : groups_of_panel / 2;
  const std::size_t tile_bytes = quant::TileBytes(matrix.cols);
  std::uint8_t* made = context.scratch().tiles.data();
  std::size_t made_panel = matrix.num_tiles;  // none yet
  context.team.Deal(matrix.num_tiles * groups_of_panel, groups_at_once, [&](Range groups) {
    for (std::size_t group = groups.begin; group < groups.end; ++group) {
      const std::size_t panel = group / groups_of_panel;
      if (panel != made_panel) {
        const TilePlace place = PlaceOfTile(matrix.layout, matrix.cols, matrix.num_tiles, panel);
        context.weights.kernels.sparse().tiles_of_columns(
            matrix.tiles.data() + place.offset, place.column_bytes, matrix.num_blocks, made);
        made_panel = panel;
      }
      GemmTiles(context, matrix, made + group % groups_of_panel * tiles_of_group * tile_bytes,
                group * tiles_of_group, tiles_of_group, out);
    }
  });
}

}  // namespace

double GainOfTables(const Context& context, std::size_t rows) noexcept {
  // Sixteen tokens take more than half of the time of 32, and lanes without a token take theirs.
  constexpr double kCostOfSixteen = 0.6;
  const std::size_t whole = context.num_tokens / kVlutTokens,
                    rest = context.num_tokens % kVlutTokens;
  const double cost = static_cast<double>(whole) + (rest == 0    ? 0
                                                    : rest <= 16 ? kCostOfSixteen
                                                                 : 1);
  const auto lanes = static_cast<double>(context.num_tokens) / kVlutTokens;
  const auto shared =
      static_cast<double>(rows) / static_cast<double>(rows + kernels::kVlutTableRows);
  return context.weights.vlut_gain * shared * lanes / cost;
}

double GemmGain(const Context& context, const TernaryMatrix& matrix) noexcept {
  const std::size_t rows = matrix.layout == MatrixLayout::kColumns
                               ? quant::kPanelRows
                               : TilesByTables(context, matrix) * kTileRows;
  constexpr double kMost = 8;  // where tables are forced, zeros are still left out
  return std::clamp(GainOfTables(context, rows), 1.0, kMost);
}

std::size_t GemmPieces(const Context& context, const TernaryMatrix& matrix) noexcept {
  const std::size_t of_piece = TilesOfPiece(context, matrix);
  return (matrix.padded_rows() / kTileRows + of_piece - 1) / of_piece;
}

Range GemmPieceRows(const Context& context, const TernaryMatrix& matrix,
                    std::size_t piece) noexcept {
  const std::size_t rows = TilesOfPiece(context, matrix) * kTileRows;
  return Range{piece * rows, std::min((piece + 1) * rows, matrix.padded_rows())};
}

void GemmPiece(const Context& context, const TernaryMatrix& matrix, std::size_t piece, float* out) {
  const Range rows = GemmPieceRows(context, matrix, piece);
  if (matrix.layout == MatrixLayout::kTile48) {
    return GemmTiles48(context, matrix,
                       Range{rows.begin / quant::kTile48Rows, rows.end / quant::kTile48Rows}, out);
  }
  GemmTilesAt(context, matrix, rows.begin / kTileRows, (rows.end - rows.begin) / kTileRows, out);
}

void GemmRows(const Context& context, const TernaryMatrix& matrix, Range rows, float* out) {
  const std::size_t end = rows.end / kTileRows, at_once = TilesOfPiece(context, matrix);
  for (std::size_t tile = rows.begin / kTileRows; tile < end; tile += at_once) {
    GemmTilesAt(context, matrix, tile, std::min(at_once, end - tile), out);
  }
}

void Gemm(const Context& context, const TernaryMatrix& matrix, float* out) {
  if (matrix.layout == MatrixLayout::kColumns) return GemmOfColumns(context, matrix, out);
  context.team.Deal(GemmPieces(context, matrix), 1, [&](Range pieces) {
    for (std::size_t piece = pieces.begin; piece < pieces.end; ++piece) {
      GemmPiece(context, matrix, piece, out);
    }
  });
}

}  // namespace bittern::model
