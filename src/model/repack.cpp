// SPDX-License-Identifier: Apache-2.0
#include "model/repack.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <optional>

#include "kernels/kernel.h"
#include "model/tensor_binder.hpp"
#include "quant/i2s.hpp"
#include "quant/ternary_scales.hpp"
#include "quant/tile16.hpp"

namespace bittern::model {
namespace {

using formats::TernarySource;
using quant::kTileBlock;
using quant::kTileRows;  // of Tile16: grouped scales, moved words

/// The first error by row, whichever thread met it.
class FirstError {
 public:
  void Report(std::size_t row, Error error) {
    const std::lock_guard lock(mutex_);
    if (error_ && row >= row_) return;
    row_ = row;
    error_ = std::move(error);
  }
  [[nodiscard]] Result<void> Get() && {
    if (error_) return tl::unexpected(*std::move(error_));
    return {};
  }

 private:
  std::mutex mutex_;
  std::size_t row_ = 0;
  std::optional<Error> error_;
};

/// Where row `row` of the stack's part is in the file.
std::size_t SourceRow(const StackPart& part, std::size_t row) {
  const std::size_t dim = part.unpermute_head_dim;
  if (dim == 0) return row;
  const std::size_t in_head = row % dim, half = dim / 2;
  const std::size_t from = in_head < half ? 2 * in_head : 2 * (in_head - half) + 1;
  return row - in_head + from;
}

/// I2_S of the official layout needs no codes in between: whole words move into the tile.
bool MovesWords(const StackPart& part, MatrixLayout layout) {
  return !IsLut(layout) && part.source.codec().layout == quant::TernaryLayout::kI2sX86 &&
         part.unpermute_head_dim == 0 && !part.source.is_master();
}

Result<void> MoveTile(const TernarySource& source, MatrixLayout layout, std::size_t row,
                      std::size_t count, std::uint8_t* tile, std::size_t column_bytes) {
  const std::size_t cols = source.cols(), row_bytes = quant::I2sRowBytes(cols);
  const auto bytes = source.view().bytes.subspan(row * row_bytes, count * row_bytes);
  if (const auto bad = quant::FindInvalidI2sCode(bytes)) {
    return Fail(ErrorCode::kCorruptFile, fmt::format("row {}, column {}: code 3; codes are 0, 1 "
                                                     "and 2",
                                                     row + *bad / cols, *bad % cols));
  }
  PackI2sTile(layout, bytes.data(), count, cols / kTileBlock, tile, column_bytes);
  return {};
}

/// Rows [row, row + count) of a part through their codes.
Result<void> RepackTile(const StackPart& part, MatrixLayout layout, std::size_t row,
                        std::size_t count, std::uint8_t* codes, float* scales, std::uint8_t* tile,
                        std::size_t column_bytes) {
  const TernarySource& source = part.source;
  if (part.unpermute_head_dim == 0) {
    BITTERN_TRY(source.ReadRows(row, count, codes, scales));
  } else {
    for (std::size_t r = 0; r < count; ++r) {
      BITTERN_TRY(source.ReadRows(SourceRow(part, row + r), 1, codes + r * source.cols(),
                                  scales + r * source.scales_per_row()));
    }
  }
  PackTile(layout, codes, count, source.cols(), tile, column_bytes);
  return {};
}

/// Repacks a tensor; returns its scales at the coarsest grain that holds them.
Result<quant::TernaryScales> RepackPart(const StackPart& part, MatrixLayout layout,
                                        std::uint8_t* tiles, ThreadPool& pool) {
  const TernarySource& source = part.source;
  const std::size_t rows = source.rows(), cols = source.cols();
  const std::size_t tile_rows = TileRows(layout);
  const std::size_t num_tiles = (rows + tile_rows - 1) / tile_rows;
  const bool words = MovesWords(part, layout);
  quant::TernaryScales scales{rows, cols, source.group_cols(), {}};
  if (!words) scales.values.resize(rows * source.scales_per_row());
  FirstError error;
  pool.Run([&](Team& team) {
    std::vector<std::uint8_t> codes(words ? 0 : tile_rows * cols);
    const Range range = team.Share(num_tiles);
    for (std::size_t t = range.begin; t < range.end; ++t) {
      const std::size_t row = t * tile_rows, count = std::min(tile_rows, rows - row);
      const TilePlace place = PlaceOfTile(layout, cols, num_tiles, t);
      std::uint8_t* tile = tiles + place.offset;
      auto done = words ? MoveTile(source, layout, row, count, tile, place.column_bytes)
                        : RepackTile(part, layout, row, count, codes.data(),
                                     scales.values.data() + row * source.scales_per_row(), tile,
                                     place.column_bytes);
      if (!done) return error.Report(row, std::move(done).error());
    }
  });
  BITTERN_TRY(std::move(error).Get());
  if (!words) return quant::Coarsen(std::move(scales));
  const float scale = quant::I2sScale(source.view().bytes) * source.multiplier();
  if (!std::isfinite(scale) || scale <= 0) {
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("expected a finite positive scale, found {}", scale));
  }
  scales.values = {scale};
  return scales;
}

bool IsGrouped(const quant::TernaryScales& scales) { return scales.values.size() > scales.rows; }

/// The scale of row r for the columns that begin at `col`.
float ScaleAt(const quant::TernaryScales& scales, std::size_t r, std::size_t col) {
  if (scales.values.size() == 1) return scales.values[0];
  return scales.values[r * scales.per_row() + col / scales.group_cols];
}

/// Fills matrix.group_scales from the parts' scales, at 64 columns if any needs it, else 128.
Result<void> SetGroupScales(std::span<const quant::TernaryScales> scales, TernaryMatrix* matrix) {
  if (matrix->layout != MatrixLayout::kTile16) {
    return Fail(ErrorCode::kUnsupported,
                fmt::format("scales that differ along a row need --kernel tile16, not {}",
                            MatrixLayoutName(matrix->layout)));
  }
  matrix->scales_per_block = 1;
  for (const auto& part : scales) {
    if (!IsGrouped(part)) continue;
    if (part.group_cols % kernels::kGroupCols != 0) {
      return Fail(ErrorCode::kUnsupported,
                  fmt::format("scales of {} columns each are not supported", part.group_cols));
    }
    if (part.group_cols % kTileBlock != 0) matrix->scales_per_block = 2;
  }
  const std::size_t per_block = matrix->scales_per_block, step = kTileBlock / per_block;
  const std::size_t block_scales = per_block * kTileRows;
  matrix->group_scales = BITTERN_TRY(AlignedBuffer<float>::Create(
      matrix->num_tiles * matrix->num_blocks * block_scales, "the scales of groups"));
  for (std::size_t i = 0; i < scales.size(); ++i) {
    for (std::size_t r = 0; r < scales[i].rows; ++r) {
      const std::size_t row = matrix->parts[i].first_row + r;
      float* out = matrix->group_scales.data() +
                   row / kTileRows * matrix->num_blocks * block_scales + row % kTileRows;
      for (std::size_t g = 0; g * step < matrix->cols; ++g) {
        out[g * kTileRows] = ScaleAt(scales[i], r, g * step);
      }
    }
  }
  return {};
}

void SetPartScales(std::span<const quant::TernaryScales> scales, TernaryMatrix* matrix) {
  for (std::size_t i = 0; i < scales.size(); ++i) {
    TernaryMatrix::Part& part = matrix->parts[i];
    part.scale = scales[i].values[0];
    if (scales[i].values.size() > 1) part.row_scales = scales[i].values;
  }
}

}  // namespace

Result<TernaryMatrix> StackTernary(std::span<const StackPart> parts, MatrixLayout layout,
                                   bool want_groups, ThreadPool& pool, HugeArena& arena) {
  const std::size_t tile_rows = TileRows(layout);
  TernaryMatrix matrix;
  matrix.layout = layout;
  matrix.cols = parts[0].source.cols();
  matrix.num_blocks = quant::BlocksOfCols(matrix.cols);
  for (const StackPart& part : parts) {
    matrix.parts.push_back({matrix.padded_rows(), part.source.rows(), 0, {}});
    matrix.num_tiles += (part.source.rows() + tile_rows - 1) / tile_rows;
  }
  matrix.tiles = BITTERN_TRY(AlignedBuffer<std::uint8_t>::CreateIn(
      arena, matrix.num_tiles * TileBytes(layout, matrix.cols),
      TensorPrefix(parts[0].tensor->name)));
  std::vector<quant::TernaryScales> scales;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::size_t first_tile = matrix.parts[i].first_row / tile_rows;
    const auto named = [&](Error error) {
      return Within(TensorPrefix(parts[i].tensor->name), std::move(error));
    };
    scales.push_back(BITTERN_TRY(
        RepackPart(parts[i], layout,
                   matrix.tiles.data() + first_tile * TileBytes(layout, matrix.cols), pool)
            .map_error(named)));
  }
  if (want_groups || std::any_of(scales.begin(), scales.end(), IsGrouped)) {
    BITTERN_TRY(SetGroupScales(scales, &matrix));
  } else {
    SetPartScales(scales, &matrix);
  }
  return matrix;
}

}  // namespace bittern::model
