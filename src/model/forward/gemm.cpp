// SPDX-License-Identifier: Apache-2.0
#include "model/forward/gemm.hpp"

#include <algorithm>

#include "model/forward/linear.hpp"
#include "quant/layouts/skip_layouts.hpp"
#include "quant/layouts/tile16.hpp"
#include "quant/layouts/tile48.hpp"

namespace bittern::model {
namespace {

using kernels::kGemmTiles;
using quant::kTileRows;

/// `count` (1..kGemmTiles) tiles, which are rows tile * 16 on of the matrix, against the batch.
void GemmTiles(const Context& context, const TernaryMatrix& matrix, const std::uint8_t* tiles,
               std::size_t tile, std::size_t count, float* out) {
  const QuantizedActivations& acts = context.state.activations;
  ThreadScratch& scratch = context.scratch();
  const std::size_t stride = count * kTileRows;
  context.weights.kernels.tile16().gemm(tiles, count, matrix.num_blocks, acts.values.data(),
                                        acts.sums.data(), context.num_tokens, scratch.sums.data(),
                                        stride, scratch.codes.data());
  RescaleRows(context, matrix, Range{0, context.num_tokens},
              Range{tile * kTileRows, tile * kTileRows + stride}, scratch.sums.data(), stride, out);
}

/// Tiles [tile, tile + count) of layout kTile16 or kRows, at most kGemmTiles of them.
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

/// Tiles of 48 rows that become sixteens at a time, and the sixteens of one.
constexpr std::size_t kTiles48AtOnce = 2, kSixteens = quant::kTile48Rows / kTileRows;

void GemmTiles48(const Context& context, const TernaryMatrix& matrix, Range tiles, float* out) {
  const std::size_t bytes = quant::Tile48Bytes(matrix.cols);
  const std::size_t made_bytes = quant::TileBytes(matrix.cols);
  std::uint8_t* made = context.scratch().tiles.data();
  for (std::size_t tile = tiles.begin; tile < tiles.end; ++tile) {
    context.weights.kernels.tile48().to_tile16(
        matrix.tiles.data() + tile * bytes, matrix.num_blocks,
        made + (tile - tiles.begin) * kSixteens * made_bytes);
  }
  const std::size_t count = (tiles.end - tiles.begin) * kSixteens;
  for (std::size_t t = 0; t < count; t += kGemmTiles) {
    GemmTiles(context, matrix, made + t * made_bytes, tiles.begin * kSixteens + t,
              std::min(kGemmTiles, count - t), out);
  }
}

/// From columns: a panel of 256 rows becomes sixteen tiles at a time.
void GemmOfColumns(const Context& context, const TernaryMatrix& matrix, float* out) {
  constexpr std::size_t kGroupsOfPanel = quant::kPanelRows / kTileRows / kGemmTiles;
  const std::size_t tile_bytes = quant::TileBytes(matrix.cols);
  std::uint8_t* made = context.scratch().tiles.data();
  constexpr std::size_t kGroupsAtOnce = kGroupsOfPanel / 2;  // helpers make the panel again
  std::size_t made_panel = matrix.num_tiles;                 // none yet
  context.team.Deal(matrix.num_tiles * kGroupsOfPanel, kGroupsAtOnce, [&](Range groups) {
    for (std::size_t group = groups.begin; group < groups.end; ++group) {
      const std::size_t panel = group / kGroupsOfPanel;
      if (panel != made_panel) {
        const TilePlace place = PlaceOfTile(matrix.layout, matrix.cols, matrix.num_tiles, panel);
        context.weights.kernels.sparse().tiles_of_columns(
            matrix.tiles.data() + place.offset, place.column_bytes, matrix.num_blocks, made);
        made_panel = panel;
      }
      GemmTiles(context, matrix, made + group % kGroupsOfPanel * kGemmTiles * tile_bytes,
                group * kGemmTiles, kGemmTiles, out);
    }
  });
}

/// Tiles of the matrix's own layout in a piece.
std::size_t TilesOfPiece(const TernaryMatrix& matrix) noexcept {
  return matrix.layout == MatrixLayout::kTile48 ? kTiles48AtOnce : kGemmTiles;
}

}  // namespace

std::size_t GemmPieces(const TernaryMatrix& matrix) noexcept {
  const std::size_t of_piece = TilesOfPiece(matrix);
  return (matrix.num_tiles + of_piece - 1) / of_piece;
}

Range GemmPieceRows(const TernaryMatrix& matrix, std::size_t piece) noexcept {
  const std::size_t rows = TilesOfPiece(matrix) * TileRows(matrix.layout);
  return Range{piece * rows, std::min((piece + 1) * rows, matrix.padded_rows())};
}

void GemmPiece(const Context& context, const TernaryMatrix& matrix, std::size_t piece, float* out) {
  const std::size_t of_piece = TilesOfPiece(matrix), first = piece * of_piece;
  const std::size_t end = std::min(first + of_piece, matrix.num_tiles);
  if (matrix.layout == MatrixLayout::kTile48) {
    return GemmTiles48(context, matrix, Range{first, end}, out);
  }
  GemmTilesAt(context, matrix, first, end - first, out);
}

void GemmRows(const Context& context, const TernaryMatrix& matrix, Range rows, float* out) {
  const std::size_t end = rows.end / kTileRows;
  for (std::size_t tile = rows.begin / kTileRows; tile < end; tile += kGemmTiles) {
    GemmTilesAt(context, matrix, tile, std::min(kGemmTiles, end - tile), out);
  }
}

void Gemm(const Context& context, const TernaryMatrix& matrix, float* out) {
  if (matrix.layout == MatrixLayout::kColumns) return GemmOfColumns(context, matrix, out);
  context.team.Deal(GemmPieces(matrix), 1, [&](Range pieces) {
    for (std::size_t piece = pieces.begin; piece < pieces.end; ++piece) {
      GemmPiece(context, matrix, piece, out);
    }
  });
}

}  // namespace bittern::model
