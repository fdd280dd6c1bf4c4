// SPDX-License-Identifier: Apache-2.0
#include "model/ternary_matrix.hpp"

#include "kernels/registry.hpp"
#include "quant/layouts/tile16.hpp"
#include "quant/layouts/tile48.hpp"

namespace bittern::model {
namespace {

/// Rows of a vector's digits, from the first on, as one call of gemv_grouped has them.
kernels::GroupedArgs ArgsOf(const TernaryMatrix& matrix, const std::uint8_t* tiles,
                            std::size_t num_tiles, const float* scales, const GroupedRows& in,
                            std::size_t first) {
  const kernels::GroupedToken& row = in.rows[first];
  return {.tiles = tiles,
          .num_tiles = num_tiles,
          .num_blocks = matrix.num_blocks,
          .weight_scales = scales,
          .scales_per_block = matrix.scales_per_block,
          .act = row.act,
          .act_stride = in.act_stride,
          .act_sums = row.act_sums,
          .act_scales = row.act_scales,
          .out = row.out,
          .low = in.digits == 1 ? nullptr : &in.rows[first + 1]};
}

}  // namespace

void MultiplyGrouped(const kernels::Kernels& kernels, const TernaryMatrix& matrix, Range tiles,
                     const float* scales, const GroupedRows& in, const GroupedScratch& scratch) {
  constexpr std::size_t kLeastUnpacked = 8;  // rows from which on it pays to unpack first
  constexpr std::size_t kMostOf48 = 2;       // vectors that meet a tile of 48 rows as it is
  const auto& [rows, act_stride, digits] = in;
  const kernels::Tile16Ops& ops = kernels.tile16();
  const std::uint8_t* first =
      matrix.tiles.data() + tiles.begin * TileBytes(matrix.layout, matrix.cols);
  std::size_t count = tiles.end - tiles.begin;
  auto gemv = ops.gemv_grouped;
  if (matrix.layout == MatrixLayout::kTile48) {
    const kernels::Tile48Ops& of_48 = kernels.tile48();
    if (rows.size() / digits <= kMostOf48) {
      gemv = of_48.gemv_grouped;
    } else {
      of_48.to_tile16(first, matrix.num_blocks, scratch.tiles);
      first = scratch.tiles;
      count = quant::kTile48Rows / quant::kTileRows;
    }
  }
  if (rows.size() < kLeastUnpacked) {
    for (std::size_t i = 0; i < rows.size(); i += digits) {
      const kernels::GroupedArgs args = ArgsOf(matrix, first, count, scales, in, i);
      gemv(&args);
    }
    return;
  }
  const kernels::GroupedGemmArgs args{.tiles = first,
                                      .num_tiles = count,
                                      .num_blocks = matrix.num_blocks,
                                      .weight_scales = scales,
                                      .scales_per_block = matrix.scales_per_block,
                                      .act_stride = act_stride,
                                      .tokens = rows.data(),
                                      .num_tokens = rows.size(),
                                      .scratch = scratch.codes};
  ops.gemm_grouped(&args);
  for (std::size_t i = 0; digits > 1 && i < rows.size(); i += digits) {
    kernels.float32().add(rows[i].out, rows[i + 1].out, count * quant::kTileRows);
  }
}

}  // namespace bittern::model
