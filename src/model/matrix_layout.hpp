// SPDX-License-Identifier: Apache-2.0
// The layouts a ternary matrix may have in memory, and so the kernels that compute from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.hpp"
#include "quant/lut32.hpp"
#include "quant/tile16.hpp"

namespace bittern::model {

enum class MatrixLayout : std::uint8_t {
  kTile16,  ///< multiply-adds (quant/tile16.hpp): the fastest on every CPU measured
  kTl1,     ///< tables over pairs (quant/lut32.hpp)
  kTl2,     ///< tables over triples: 1.67 bits a weight
};

/// "tile16", "tl1", "tl2".
[[nodiscard]] std::string_view MatrixLayoutName(MatrixLayout layout) noexcept;
/// The layout of a name, or of "auto" (tile16). Error kInvalidArgument lists the names.
[[nodiscard]] Result<MatrixLayout> ParseMatrixLayout(std::string_view name);

/// Rows of a tile, and its bytes for `cols` columns.
[[nodiscard]] std::size_t TileRows(MatrixLayout layout) noexcept;
[[nodiscard]] std::size_t TileBytes(MatrixLayout layout, std::size_t cols) noexcept;

/// Makes one tile from the codes of num_rows (1..TileRows) rows.
void PackTile(MatrixLayout layout, const std::uint8_t* codes, std::size_t num_rows,
              std::size_t cols, std::uint8_t* tile) noexcept;

/// The kind of a lookup layout; kTile16 has none.
[[nodiscard]] constexpr quant::LutKind LutKindOf(MatrixLayout layout) noexcept {
  return layout == MatrixLayout::kTl1 ? quant::LutKind::kTl1 : quant::LutKind::kTl2;
}

}  // namespace bittern::model
