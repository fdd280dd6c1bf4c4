// SPDX-License-Identifier: Apache-2.0
#include "model/ternary_matrix.hpp"

#include "kernels/registry.hpp"
#include "quant/layouts/tile16.hpp"

namespace bittern::model {

void MultiplyGrouped(const kernels::Kernels& kernels, const TernaryMatrix& matrix, Range tiles,
                     const float* scales, const GroupedRows& in, std::uint8_t* scratch) {
  constexpr std::size_t kLeastUnpacked = 8;  // rows from which on it pays to unpack first
  const auto& [rows, act_stride, digits] = in;
  const kernels::Tile16Ops& ops = kernels.tile16();
  const std::uint8_t* first = matrix.tiles.data() + tiles.begin * quant::TileBytes(matrix.cols);
  const std::size_t count = tiles.end - tiles.begin;
  if (rows.size() < kLeastUnpacked) {
    for (std::size_t i = 0; i < rows.size(); i += digits) {
      const kernels::GroupedArgs args{.tiles = first,
                                      .num_tiles = count,
                                      .num_blocks = matrix.num_blocks,
                                      .weight_scales = scales,
                                      .scales_per_block = matrix.scales_per_block,
                                      .act = rows[i].act,
                                      .act_stride = act_stride,
                                      .act_sums = rows[i].act_sums,
                                      .act_scales = rows[i].act_scales,
                                      .out = rows[i].out,
                                      .low = digits == 1 ? nullptr : &rows[i + 1]};
      ops.gemv_grouped(&args);
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
                                      .scratch = scratch};
  ops.gemm_grouped(&args);
  for (std::size_t i = 0; digits > 1 && i < rows.size(); i += digits) {
    kernels.float32().add(rows[i].out, rows[i + 1].out, count * quant::kTileRows);
  }
}

}  // namespace bittern::model
