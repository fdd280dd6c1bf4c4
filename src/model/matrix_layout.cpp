// SPDX-License-Identifier: Apache-2.0
#include "model/matrix_layout.hpp"

#include <fmt/format.h>

namespace bittern::model {

std::string_view MatrixLayoutName(MatrixLayout layout) noexcept {
  switch (layout) {
    case MatrixLayout::kTl1:
      return "tl1";
    case MatrixLayout::kTl2:
      return "tl2";
    case MatrixLayout::kTile16:
      break;
  }
  return "tile16";
}

Result<MatrixLayout> ParseMatrixLayout(std::string_view name) {
  if (name == "auto") return MatrixLayout::kTile16;
  for (const auto layout : {MatrixLayout::kTile16, MatrixLayout::kTl1, MatrixLayout::kTl2}) {
    if (MatrixLayoutName(layout) == name) return layout;
  }
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("kernel {}: expected auto, tile16, tl1 or tl2", name));
}

std::size_t TileRows(MatrixLayout layout) noexcept {
  return layout == MatrixLayout::kTile16 ? quant::kTileRows : quant::kLutRows;
}

std::size_t TileBytes(MatrixLayout layout, std::size_t cols) noexcept {
  return layout == MatrixLayout::kTile16 ? quant::TileBytes(cols)
                                         : quant::LutTileBytes(LutKindOf(layout), cols);
}

void PackTile(MatrixLayout layout, const std::uint8_t* codes, std::size_t num_rows,
              std::size_t cols, std::uint8_t* tile) noexcept {
  if (layout == MatrixLayout::kTile16) return quant::PackTile(codes, num_rows, cols, tile);
  quant::PackLutTile(LutKindOf(layout), codes, num_rows, cols, tile);
}

}  // namespace bittern::model
