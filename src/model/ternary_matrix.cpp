// SPDX-License-Identifier: Apache-2.0
#include "model/ternary_matrix.hpp"

#include "kernels/registry.hpp"
#include "quant/layouts/tile16.hpp"
#include "quant/layouts/tile48.hpp"

namespace bittern::model {
namespace {

/// One token of a call, as one call of gemv_grouped has it.
kernels::GroupedArgs ArgsOf(const kernels::GroupedGemmArgs& all,
                            const kernels::GroupedToken& token) {
  return {.tiles = all.tiles,
          .num_tiles = all.num_tiles,
          .num_blocks = all.num_blocks,
          .weight_scales = all.weight_scales,
          .scales_per_block = all.scales_per_block,
          .act = token.act,
          .act_stride = all.act_stride,
          .act_sums = token.act_sums,
          .act_scales = token.act_scales,
          .out = token.out,
          .low = token.low};
}

}  // namespace

void MultiplyGrouped(const kernels::Kernels& kernels, const TernaryMatrix& matrix, Range tiles,
                     const float* scales, const GroupedRows& in, const GroupedScratch& scratch) {
  if (in.tokens.empty()) return;
  constexpr std::size_t kLeastUnpacked = 8;  // vectors from which on it pays to unpack first
  const std::size_t digits = in.tokens.front().low == nullptr ? 1 : 2;
  const std::size_t vectors = in.tokens.size() * digits;
  kernels::GroupedGemmArgs args{
      .tiles = matrix.tiles.data() + tiles.begin * TileBytes(matrix.layout, matrix.cols),
      .num_tiles = tiles.end - tiles.begin,
      .num_blocks = matrix.num_blocks,
      .weight_scales = scales,
      .scales_per_block = matrix.scales_per_block,
      .act_stride = in.act_stride,
      .tokens = in.tokens.data(),
      .num_tokens = in.tokens.size(),
      .scratch = scratch.codes};
  if (matrix.layout == MatrixLayout::kTile48) {
    const kernels::Tile48Ops& of_48 = kernels.tile48();
    if (vectors <= of_48.most_grouped) return of_48.gemm_grouped(&args);
    of_48.to_tile16(args.tiles, matrix.num_blocks, scratch.tiles);
    args.tiles = scratch.tiles;
    args.num_tiles = quant::kTile48Rows / quant::kTileRows;
  }
  if (vectors >= kLeastUnpacked) return kernels.tile16().gemm_grouped(&args);
  for (const kernels::GroupedToken& token : in.tokens) {
    const kernels::GroupedArgs one = ArgsOf(args, token);
    kernels.tile16().gemv_grouped(&one);
  }
}

}  // namespace bittern::model
