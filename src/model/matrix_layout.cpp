// SPDX-License-Identifier: Apache-2.0
// One place that knows how large a tile of each layout is, where it lies and how it is packed; the
// layouts themselves are written down in quant/layouts.
#include "model/matrix_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "quant/i2s.hpp"
#include "quant/layouts/skip_layouts.hpp"
#include "quant/layouts/tile48.hpp"

namespace bittern::model {

std::string_view MatrixLayoutName(MatrixLayout layout) noexcept {
  switch (layout) {
    case MatrixLayout::kTile48:
      return "tile48";
    case MatrixLayout::kTl1:
      return "tl1";
    case MatrixLayout::kTl2:
      return "tl2";
    case MatrixLayout::kRows:
      return "rows";
    case MatrixLayout::kColumns:
      return "columns";
    case MatrixLayout::kTile16:
      break;
  }
  return "tile16";
}

Result<std::optional<MatrixLayout>> ParseMatrixLayout(std::string_view name) {
  if (name == "auto") return std::optional<MatrixLayout>{};
  for (const auto layout :
       {MatrixLayout::kTile16, MatrixLayout::kTile48, MatrixLayout::kTl1, MatrixLayout::kTl2}) {
    if (MatrixLayoutName(layout) == name) return std::optional(layout);
  }
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("kernel {}: expected auto, tile16, tile48, tl1 or tl2", name));
}

std::size_t TileRows(MatrixLayout layout) noexcept {
  if (layout == MatrixLayout::kColumns) return quant::kPanelRows;
  if (layout == MatrixLayout::kTile48) return quant::kTile48Rows;
  return IsLut(layout) ? quant::kLutRows : quant::kTileRows;
}

/// A panel of columns has a line for each of its columns, padding included; everything else is as
/// dense as two bits a weight, or as its tables' indices.
std::size_t TileBytes(MatrixLayout layout, std::size_t cols) noexcept {
  if (IsLut(layout)) return quant::LutTileBytes(LutKindOf(layout), cols);
  if (layout == MatrixLayout::kColumns) {
    return quant::BlocksOfCols(cols) * quant::kTileBlock * quant::kPanelLineBytes;
  }
  if (layout == MatrixLayout::kTile48) return quant::Tile48Bytes(cols);
  return quant::TileBytes(cols);  // rows are as large as a tile of them
}

/// Panels lie interleaved: one column of all panels, then the next column, so that a thread which
/// skips a zero skips one piece of memory. Other tiles lie one behind the other.
TilePlace PlaceOfTile(MatrixLayout layout, std::size_t cols, std::size_t num_tiles,
                      std::size_t tile) noexcept {
  if (layout != MatrixLayout::kColumns) return {tile * TileBytes(layout, cols), 0};
  return {tile * quant::kPanelLineBytes, num_tiles * quant::kPanelLineBytes};
}

/// A panel is made of packed rows, 16 at a time.
void PackTile(MatrixLayout layout, const std::uint8_t* codes, std::size_t num_rows,
              std::size_t cols, std::uint8_t* tile, std::size_t column_bytes) {
  if (IsLut(layout)) return quant::PackLutTile(LutKindOf(layout), codes, num_rows, cols, tile);
  if (layout == MatrixLayout::kTile16) return quant::PackTile(codes, num_rows, cols, tile);
  if (layout == MatrixLayout::kTile48) return quant::PackTile48(codes, num_rows, cols, tile);
  if (layout == MatrixLayout::kRows) return quant::PackRows(codes, num_rows, cols, tile);
  std::vector<std::uint8_t> rows(quant::kPanelRows / quant::kTileRows * quant::TileBytes(cols));
  const std::size_t row_bytes = quant::TileBytes(cols) / quant::kTileRows;
  for (std::size_t r = 0; r < num_rows; r += quant::kTileRows) {
    quant::PackRows(codes + r * cols, std::min(quant::kTileRows, num_rows - r), cols,
                    rows.data() + r * row_bytes);
  }
  quant::PackPanel(rows.data(), num_rows, quant::BlocksOfCols(cols), tile, column_bytes);
}

/// I2_S has two bits a weight with the same meaning, so loading moves bytes and decodes nothing.
void PackI2sTile(MatrixLayout layout, const std::byte* rows, std::size_t num_rows,
                 std::size_t num_blocks, std::uint8_t* tile, std::size_t column_bytes) noexcept {
  const std::size_t row_bytes = num_blocks * quant::kI2sBlockBytes;
  if (layout == MatrixLayout::kColumns) {
    quant::PackPanel(reinterpret_cast<const std::uint8_t*>(rows), num_rows, num_blocks, tile,
                     column_bytes);
  } else if (layout == MatrixLayout::kRows) {
    std::memset(tile, 0x55, quant::kTileRows * row_bytes);  // weights 0 where there is no row
    std::memcpy(tile, rows, num_rows * row_bytes);
  } else if (layout == MatrixLayout::kTile48) {
    quant::RepackI2sTile48(rows, num_rows, num_blocks, tile);
  } else {
    quant::RepackI2sTile(rows, num_rows, num_blocks, tile);
  }
}

}  // namespace bittern::model
