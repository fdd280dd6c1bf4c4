// SPDX-License-Identifier: Apache-2.0
// The layouts a ternary matrix may have in memory, and so the kernels that compute from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.hpp"
#include "quant/layouts/lut32.hpp"
#include "quant/layouts/tile16.hpp"

namespace bittern::model {

enum class MatrixLayout : std::uint8_t {
  kTile16,   ///< multiply-adds (quant/layouts/tile16.hpp): the default
  kTile48,   ///< the same in 5/6 of the bytes (quant/layouts/tile48.hpp), where memory bandwidth is
             ///< the limit
  kTl1,      ///< tables over pairs (quant/layouts/lut32.hpp)
  kTl2,      ///< tables over triples: 1.67 bits a weight
  kRows,     ///< single rows can be left out (quant/layouts/skip_layouts.hpp); a tile is 16 rows
  kColumns,  ///< single columns can be left out; a tile is a panel of 256 rows
};

/// "tile16", "tile48", "tl1", "tl2", "rows", "columns".
[[nodiscard]] std::string_view MatrixLayoutName(MatrixLayout layout) noexcept;
/// The layout of a name that can be asked for (not rows and columns, which go together); none for
/// "auto". Error kInvalidArgument lists the names.
[[nodiscard]] Result<std::optional<MatrixLayout>> ParseMatrixLayout(std::string_view name);

/// Rows of a tile, and its bytes for `cols` columns.
[[nodiscard]] std::size_t TileRows(MatrixLayout layout) noexcept;
[[nodiscard]] std::size_t TileBytes(MatrixLayout layout, std::size_t cols) noexcept;

/// The offset of a tile of a matrix, and the distance between its columns. Tiles lie one after the
/// other; but those of kColumns lie side by side, a line of each in every column.
struct TilePlace {
  std::size_t offset;
  std::size_t column_bytes;  ///< kColumns only
};
[[nodiscard]] TilePlace PlaceOfTile(MatrixLayout layout, std::size_t cols, std::size_t num_tiles,
                                    std::size_t tile) noexcept;

/// Makes one tile from the codes of num_rows (1..TileRows) rows. tile: its place.
void PackTile(MatrixLayout layout, const std::uint8_t* codes, std::size_t num_rows,
              std::size_t cols, std::uint8_t* tile, std::size_t column_bytes);
/// The same from rows as I2_S has them (quant/i2s.hpp), num_blocks blocks of 128 columns each.
/// Not for lookup layouts.
void PackI2sTile(MatrixLayout layout, const std::byte* rows, std::size_t num_rows,
                 std::size_t num_blocks, std::uint8_t* tile, std::size_t column_bytes) noexcept;

/// Layouts whose tiles a gemv takes one after the other: kTile16 and kTile48.
[[nodiscard]] constexpr bool IsTiled(MatrixLayout layout) noexcept {
  return layout == MatrixLayout::kTile16 || layout == MatrixLayout::kTile48;
}
/// Layouts made of tables: kTl1 and kTl2.
[[nodiscard]] constexpr bool IsLut(MatrixLayout layout) noexcept {
  return layout == MatrixLayout::kTl1 || layout == MatrixLayout::kTl2;
}
/// The kind of a lookup layout.
[[nodiscard]] constexpr quant::LutKind LutKindOf(MatrixLayout layout) noexcept {
  return layout == MatrixLayout::kTl1 ? quant::LutKind::kTl1 : quant::LutKind::kTl2;
}

}  // namespace bittern::model
