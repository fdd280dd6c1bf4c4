// SPDX-License-Identifier: Apache-2.0
#include "model/ternary_matrix.hpp"

#include "kernels/registry.hpp"
#include "quant/layouts/tile16.hpp"
#include "quant/layouts/tile48.hpp"

namespace bittern::model {
namespace {

/// Rows of a vector's digits, from the first on, as one call of gemv_grouped has them.
kernels::GroupedArgs ArgsOf(const kernels::GroupedGemmArgs& all, std::size_t first,
                            std::size_t digits) {
  const kernels::GroupedToken& row = all.tokens[first];
  return {.tiles = all.tiles,
          .num_tiles = all.num_tiles,
          .num_blocks = all.num_blocks,
          .weight_scales = all.weight_scales,
          .scales_per_block = all.scales_per_block,
          .act = row.act,
          .act_stride = all.act_stride,
          .act_sums = row.act_sums,
          .act_scales = row.act_scales,
          .out = row.out,
          .low = digits == 1 ? nullptr : all.tokens + first + 1};
}

}  // namespace

void MultiplyGrouped(const kernels::Kernels& kernels, const TernaryMatrix& matrix, Range tiles,
                     const float* scales, const GroupedRows& in, const GroupedScratch& scratch) {
  constexpr std::size_t kLeastUnpacked = 8;  // rows from which on it pays to unpack first
  const std::span<const kernels::GroupedToken> rows = in.rows;
  const std::size_t digits = in.digits;  // clang 14 captures no structured bindings
  const std::size_t padded = (tiles.end - tiles.begin) * TileRows(matrix.layout);
  const auto add_digits = [&] {
    for (std::size_t i = 0; digits > 1 && i < rows.size(); i += digits) {
      kernels.float32().add(rows[i].out, rows[i + 1].out, padded);
    }
  };
  kernels::GroupedGemmArgs args{
      .tiles = matrix.tiles.data() + tiles.begin * TileBytes(matrix.layout, matrix.cols),
      .num_tiles = tiles.end - tiles.begin,
      .num_blocks = matrix.num_blocks,
      .weight_scales = scales,
      .scales_per_block = matrix.scales_per_block,
      .act_stride = in.act_stride,
      .tokens = rows.data(),
      .num_tokens = rows.size(),
      .scratch = scratch.codes};
  if (matrix.layout == MatrixLayout::kTile48) {
    const kernels::Tile48Ops& of_48 = kernels.tile48();
    if (rows.size() <= of_48.most_grouped) {
      of_48.gemm_grouped(&args);
      return add_digits();
    }
    of_48.to_tile16(args.tiles, matrix.num_blocks, scratch.tiles);
    args.tiles = scratch.tiles;
    args.num_tiles = quant::kTile48Rows / quant::kTileRows;
  }
  if (rows.size() < kLeastUnpacked) {
    for (std::size_t i = 0; i < rows.size(); i += digits) {
      const kernels::GroupedArgs one = ArgsOf(args, i, digits);
      kernels.tile16().gemv_grouped(&one);
    }
    return;
  }
  kernels.tile16().gemm_grouped(&args);
  add_digits();
}

}  // namespace bittern::model
