// SPDX-License-Identifier: Apache-2.0
// Ternary weights as the kernels read them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/memory/aligned_buffer.hpp"
#include "base/threads/thread_pool.hpp"
#include "kernels/kernel.h"
#include "model/matrix_layout.hpp"

namespace bittern::kernels {
struct Kernels;
}

namespace bittern::model {

/// One or more ternary projections of the same input, stacked: their rows lie one after the
/// other in tiles of one layout, each part beginning at a whole tile.
struct TernaryMatrix {
  struct Part {
    std::size_t first_row;  ///< in the stacked output, a multiple of the tile's rows
    std::size_t rows;
    float scale;                         ///< weight = code * scale, where row_scales is empty
    std::vector<float> row_scales = {};  ///< one a row
    /// The least scale of activations (127 / largest) whose products cannot overflow, whatever
    /// their signs, in any row that the file has.
    float act_limit = 0;
  };
  MatrixLayout layout = MatrixLayout::kTile16;
  std::size_t cols = 0;
  std::size_t num_blocks = 0;  ///< of 128 columns (kTile16)
  std::size_t num_tiles = 0;   ///< of TileRows(layout) rows
  std::vector<Part> parts;
  AlignedBuffer<std::uint8_t> tiles;
  /// The scales of a matrix whose scales differ along a row: [16
  /// rows][block][scales_per_block][16], as in kernels::GroupedArgs. Those of the parts do not
  /// count then. scales_per_block is 0 where they do not differ.
  std::size_t scales_per_block = 0;
  AlignedBuffer<float> group_scales;
  AlignedBuffer<std::uint16_t> half_scales;  ///< in place of them where binary16 holds every one

  /// The largest of all parts.
  [[nodiscard]] float act_limit() const noexcept {
    float limit = 0;
    for (const Part& part : parts) limit = std::max(limit, part.act_limit);
    return limit;
  }
  [[nodiscard]] bool grouped() const noexcept { return scales_per_block != 0; }
  [[nodiscard]] std::size_t padded_rows() const noexcept { return num_tiles * TileRows(layout); }
  /// Scales of groups of 16 rows.
  [[nodiscard]] std::size_t scales_of_16() const noexcept {
    return num_blocks * scales_per_block * quant::kTileRows;
  }
};

/// Rows of activations that meet a grouped matrix.
struct GroupedRows {
  std::span<const kernels::GroupedToken> tokens;
  std::size_t act_stride;  ///< kernels::GroupedArgs
};

/// Memory for MultiplyGrouped, of one thread.
struct GroupedScratch {
  std::uint8_t* codes;  ///< kernels::GroupedGemmArgs
  std::uint8_t* tiles;  ///< of kTile48: three tiles of 16 rows
};

/// Some tiles (of kTile48 one) of a grouped matrix times all tokens, to the `out` of each. scales:
/// of these tiles. One thread.
void MultiplyGrouped(const kernels::Kernels& kernels, const TernaryMatrix& matrix, Range tiles,
                     const float* scales, const GroupedRows& in, const GroupedScratch& scratch);

}  // namespace bittern::model
