// SPDX-License-Identifier: Apache-2.0
// Weights from the file's layout to the kernels' layout, a tile at a time on all threads of a pool.
// Two ways: words of the official I2_S layout move as they are; all others go through codes 0, 1,
// 2. Rows of dead neurons are left out, but they are checked: a file is refused for the same faults
// with or without them. Scales go to the coarsest grain that says the same.
#include "model/load/repack.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <limits>
#include <mutex>
#include <optional>

#include "base/float16.hpp"
#include "kernels/sizes.h"
#include "model/load/tensor_binder.hpp"
#include "quant/i2s.hpp"
#include "quant/layouts/skip_layouts.hpp"
#include "quant/layouts/tile16.hpp"
#include "quant/ternary_scales.hpp"

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

/// The file's row of row `row` of the stack's part.
std::size_t SourceRow(const StackPart& part, std::size_t row) {
  if (!part.rows.empty()) return part.rows[row];
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

/// `picked` takes copies of rows that do not lie side by side.
Result<void> MoveTile(const StackPart& part, MatrixLayout layout, std::size_t row,
                      std::size_t count, std::vector<std::byte>* picked, std::uint8_t* tile,
                      std::size_t column_bytes) {
  const std::size_t cols = part.source.cols(), row_bytes = quant::I2sRowBytes(cols);
  const std::span<const std::byte> all = part.source.view().bytes;
  std::span<const std::byte> bytes;
  if (part.rows.empty()) {
    bytes = all.subspan(row * row_bytes, count * row_bytes);
  } else {
    picked->clear();
    for (std::size_t r = row; r < row + count; ++r) {
      const auto one = all.subspan(part.rows[r] * row_bytes, row_bytes);
      picked->insert(picked->end(), one.begin(), one.end());
    }
    bytes = *picked;
  }
  if (const auto bad = quant::FindInvalidI2sCode(bytes)) {
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("row {}, column {}: code 3; codes are 0, 1 and 2",
                            SourceRow(part, row + *bad / cols), *bad % cols));
  }
  PackI2sTile(layout, bytes.data(), count, cols / kTileBlock, tile, column_bytes);
  return {};
}

/// Rows [row, row + count) of a part through their codes.
Result<void> RepackTile(const StackPart& part, MatrixLayout layout, std::size_t row,
                        std::size_t count, std::uint8_t* codes, float* scales, std::uint8_t* tile,
                        std::size_t column_bytes) {
  const TernarySource& source = part.source;
  if (part.unpermute_head_dim == 0 && part.rows.empty()) {
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

/// A thread's memory for repacking a tile.
struct RepackScratch {
  std::vector<std::uint8_t> codes;
  std::vector<std::byte> rows;
  std::vector<std::uint8_t> panel;  ///< with all columns, where some are picked
};

/// Puts the columns that are kept from a panel of all into their places.
void PickColumns(const StackPart& part, const std::vector<std::uint8_t>& panel, std::uint8_t* tile,
                 std::size_t column_bytes) {
  for (std::size_t c = 0; c < part.columns.size(); ++c) {
    std::memcpy(tile + c * column_bytes, panel.data() + part.columns[c] * quant::kPanelLineBytes,
                quant::kPanelLineBytes);
  }
}

/// Tile `t` of a part, and its rows' scales (float[scales_per_row] each) unless words are moved.
Result<void> RepackTileOf(const StackPart& part, MatrixLayout layout, std::size_t t,
                          std::size_t num_tiles, RepackScratch* scratch, float* scales,
                          std::uint8_t* tiles) {
  const std::size_t row = t * TileRows(layout);
  const std::size_t count = std::min(TileRows(layout), part.num_rows() - row);
  const TilePlace place = PlaceOfTile(layout, part.num_columns(), num_tiles, t);
  const bool picks = !part.columns.empty();
  std::uint8_t* tile = picks ? scratch->panel.data() : tiles + place.offset;
  const std::size_t column_bytes = picks ? quant::kPanelLineBytes : place.column_bytes;
  if (MovesWords(part, layout)) {
    BITTERN_TRY(MoveTile(part, layout, row, count, &scratch->rows, tile, column_bytes));
  } else {
    BITTERN_TRY(RepackTile(part, layout, row, count, scratch->codes.data(),
                           scales + row * part.source.scales_per_row(), tile, column_bytes));
  }
  if (picks) PickColumns(part, scratch->panel, tiles + place.offset, place.column_bytes);
  return {};
}

/// The scale of an I2_S tensor whose words are moved; 0, whatever is stored, where every weight is
/// 0, as quant::UnpackRowsChecked has it for other layouts.
Result<float> ScaleOfWords(const TernarySource& source) {
  const float scale = quant::I2sScale(source.view().bytes) * source.multiplier();
  if (std::isfinite(scale) && scale > 0) return scale;
  constexpr std::byte kFourZeros{0x55};
  const auto codes = source.view().bytes.first(source.rows() * quant::I2sRowBytes(source.cols()));
  if (std::ranges::all_of(codes, [](std::byte b) { return b == kFourZeros; })) return 0.0f;
  return Fail(ErrorCode::kCorruptFile,
              fmt::format("expected a finite positive scale, found {}", scale));
}

/// Checks the rows that are not kept, so that a file is refused, or its products are bounded, no
/// matter what is left out of it. Returns their largest scale, 0 where the tensor has only one.
Result<float> CheckRowsLeftOut(const StackPart& part) {
  if (part.rows.empty() || part.ranks != nullptr) return 0.0f;
  std::vector<bool> kept(part.source.rows());
  for (const std::uint32_t row : part.rows) kept[row] = true;
  std::vector<std::uint8_t> codes(part.source.cols());
  std::vector<float> scales(part.source.scales_per_row());
  float largest = 0;
  for (std::size_t row = 0; row < kept.size(); ++row) {
    if (kept[row]) continue;
    BITTERN_TRY(part.source.ReadRows(row, 1, codes.data(), scales.data()));
    largest = std::max(largest, *std::ranges::max_element(scales));
  }
  return largest;
}

/// The error of the tensor's first bad row; `found` was met in the order of the rows that are kept.
/// What a file is refused for does not depend on what is left out of it.
Error FirstBadRow(const StackPart& part, Error found) {
  if (part.rows.empty()) return found;
  std::vector<std::uint8_t> codes(part.source.cols());
  std::vector<float> scales(part.source.scales_per_row());
  for (std::size_t row = 0; row < part.source.rows(); ++row) {
    auto read = part.source.ReadRows(row, 1, codes.data(), scales.data());
    if (!read) return std::move(read).error();
  }
  return found;
}

/// The scales of a tensor at the coarsest grain that holds them, and the largest of all its rows.
struct PartScales {
  quant::TernaryScales scales;
  float largest;
};

/// Repacks a tensor.
Result<PartScales> RepackPart(const StackPart& part, MatrixLayout layout, std::uint8_t* tiles,
                              ThreadPool& pool) {
  const TernarySource& source = part.source;
  const std::size_t rows = part.num_rows(), cols = source.cols();
  const std::size_t tile_rows = TileRows(layout);
  const std::size_t num_tiles = (rows + tile_rows - 1) / tile_rows;
  const bool words = MovesWords(part, layout);
  quant::TernaryScales scales{rows, cols, source.group_cols(), {}};
  if (!words) scales.values.resize(rows * source.scales_per_row());
  FirstError error;
  pool.Run([&](Team& team) {
    RepackScratch scratch;
    if (!words) scratch.codes.resize(tile_rows * cols);
    if (!part.columns.empty()) scratch.panel.resize(TileBytes(layout, cols));
    // Dealt out, since one thread may find more of its huge pages cleared already than another.
    constexpr std::size_t kTilesAtOnce = 4;
    team.Deal(num_tiles, kTilesAtOnce, [&](Range range) {
      for (std::size_t t = range.begin; t < range.end; ++t) {
        auto done = RepackTileOf(part, layout, t, num_tiles, &scratch, scales.values.data(), tiles);
        if (!done) return error.Report(t, std::move(done).error());
      }
    });
  });
  if (auto read = std::move(error).Get(); !read) {
    return tl::unexpected(FirstBadRow(part, std::move(read).error()));
  }
  float largest = BITTERN_TRY(CheckRowsLeftOut(part));
  if (words) {
    const float scale = BITTERN_TRY(ScaleOfWords(source));
    scales.values = {scale};
  }
  largest = std::max(largest, *std::ranges::max_element(scales.values));
  if (!words) scales = quant::Coarsen(std::move(scales));
  return PartScales{std::move(scales), largest};
}

bool IsGrouped(const quant::TernaryScales& scales) { return scales.values.size() > scales.rows; }

/// The scale of row r for the columns that begin at `col`.
float ScaleAt(const quant::TernaryScales& scales, std::size_t r, std::size_t col) {
  if (scales.values.size() == 1) return scales.values[0];
  return scales.values[r * scales.per_row() + col / scales.group_cols];
}

/// Whether binary16 holds every scale.
bool AreHalves(std::span<const quant::TernaryScales> scales, ThreadPool& pool) {
  std::atomic<bool> all = true;
  pool.Run([&](Team& team) {
    for (const quant::TernaryScales& part : scales) {
      const Range mine = team.Share(part.values.size());
      const auto values = std::span(part.values).subspan(mine.begin, mine.end - mine.begin);
      const bool halves = std::ranges::all_of(values, [](float scale) {
        return std::bit_cast<std::uint32_t>(HalfToFloat(FloatToHalf(scale))) ==
               std::bit_cast<std::uint32_t>(scale);
      });
      if (!halves) all = false;
    }
  });
  return all;
}

/// out[...] = convert(the parts' scales), as TernaryMatrix has them.
template <class T, class Convert>
Result<AlignedBuffer<T>> LayScales(std::span<const quant::TernaryScales> scales,
                                   const TernaryMatrix& matrix, ThreadPool& pool, HugeArena& arena,
                                   Convert convert) {
  const std::size_t step = kTileBlock / matrix.scales_per_block;
  const std::size_t tile_scales = matrix.scales_of_16();
  auto laid = BITTERN_TRY(AlignedBuffer<T>::CreateIn(
      arena, matrix.padded_rows() / kTileRows * tile_scales, "the scales of groups"));
  T* all = laid.data();
  pool.Run([&](Team& team) {
    for (std::size_t i = 0; i < scales.size(); ++i) {
      const Range rows = team.Share(scales[i].rows);
      for (std::size_t r = rows.begin; r < rows.end; ++r) {
        const std::size_t row = matrix.parts[i].first_row + r;
        T* out = all + row / kTileRows * tile_scales + row % kTileRows;
        for (std::size_t g = 0; g * step < matrix.cols; ++g) {
          out[g * kTileRows] = convert(ScaleAt(scales[i], r, g * step));
        }
      }
    }
  });
  return laid;
}

/// The facts that decide how a stack is multiplied, of all rows that the file has.
struct StackFacts {
  bool grouped = false;        ///< some row has several scales
  bool fine = false;           ///< some group is no multiple of 128 columns
  std::vector<float> largest;  ///< scale of each part
};

/// Completes the facts with those of the rows that other ranks have.
void ShareFacts(Ranks* ranks, StackFacts* facts) {
  if (ranks == nullptr) return;
  std::vector<float> values = facts->largest;
  values.push_back(facts->grouped ? 1 : 0);
  values.push_back(facts->fine ? 1 : 0);
  TakeLargest(*ranks, values);
  facts->fine = values.back() != 0;
  facts->grouped = values[values.size() - 2] != 0;
  facts->largest.assign(values.begin(), values.end() - 2);
}

/// Sets the scales of groups. A group has 128 columns, or 64 where some part has scales that fine.
Result<void> SetGroupScales(std::span<const quant::TernaryScales> scales, bool fine,
                            ThreadPool& pool, HugeArena& arena, TernaryMatrix* matrix) {
  if (!IsTiled(matrix->layout)) {
    // No loader chooses tables by itself: the caller did.
    const bool chosen =
        matrix->layout == MatrixLayout::kTl1 || matrix->layout == MatrixLayout::kTl2;
    return Fail(chosen ? ErrorCode::kInvalidArgument : ErrorCode::kUnsupported,
                fmt::format("scales that differ along a row need layout tile16 or tile48, not {}",
                            MatrixLayoutName(matrix->layout)),
                "kernel=tile16 sets it");
  }
  matrix->scales_per_block = fine ? 2 : 1;
  for (const auto& part : scales) {
    if (!IsGrouped(part) || part.group_cols % kernels::kGroupCols == 0) continue;
    return Fail(ErrorCode::kUnsupported,
                fmt::format("scales of {} columns each are not supported", part.group_cols));
  }
  if (AreHalves(scales, pool)) {
    matrix->half_scales =
        BITTERN_TRY(LayScales<std::uint16_t>(scales, *matrix, pool, arena, FloatToHalf));
  } else {
    matrix->group_scales = BITTERN_TRY(
        LayScales<float>(scales, *matrix, pool, arena, [](float scale) { return scale; }));
  }
  return {};
}

/// TernaryMatrix::Part::act_limit: |sum| <= 127 K, and 127 K / scale * weight scale stays below
/// 2^126 in the order of the kernels, so that what is rotated afterwards is finite, too.
float ActLimit(std::size_t cols, float largest_scale, bool grouped) {
  const double sum = 127.0 * static_cast<double>(cols), most = 0x1p126;
  const double weight = static_cast<double>(largest_scale);
  // Grouped sums meet the weight's scale first.
  if (grouped && sum * weight > most) return std::numeric_limits<float>::infinity();
  return static_cast<float>(sum * std::max(1.0, weight) / most);
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
  matrix.cols = parts[0].num_columns();
  matrix.num_blocks = quant::BlocksOfCols(matrix.cols);
  for (const StackPart& part : parts) {
    matrix.parts.push_back({matrix.padded_rows(), part.num_rows(), 0, {}});
    matrix.num_tiles += (part.num_rows() + tile_rows - 1) / tile_rows;
  }
  matrix.tiles = BITTERN_TRY(AlignedBuffer<std::uint8_t>::CreateIn(
      arena, matrix.num_tiles * TileBytes(layout, matrix.cols),
      TensorPrefix(parts[0].tensor->name)));
  std::vector<quant::TernaryScales> scales;
  StackFacts facts;
  facts.grouped = want_groups;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::size_t first_tile = matrix.parts[i].first_row / tile_rows;
    const auto named = [&](Error error) {
      return Within(TensorPrefix(parts[i].tensor->name), std::move(error));
    };
    PartScales part = BITTERN_TRY(
        RepackPart(parts[i], layout,
                   matrix.tiles.data() + first_tile * TileBytes(layout, matrix.cols), pool)
            .map_error(named));
    const bool grouped = IsGrouped(part.scales);
    facts.grouped |= grouped;
    facts.fine |= grouped && part.scales.group_cols % kTileBlock != 0;
    facts.largest.push_back(part.largest);
    scales.push_back(std::move(part.scales));
  }
  ShareFacts(parts[0].ranks, &facts);
  if (facts.grouped) {
    BITTERN_TRY(SetGroupScales(scales, facts.fine, pool, arena, &matrix));
  } else {
    SetPartScales(scales, &matrix);
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    matrix.parts[i].act_limit =
        ActLimit(parts[i].source.cols(), facts.largest[i], matrix.grouped());
  }
  return matrix;
}

std::vector<TernaryMatrix> PartsOf(const TernaryMatrix& stack) {
  const std::size_t rows = TileRows(stack.layout), bytes = TileBytes(stack.layout, stack.cols);
  const std::size_t scales = rows / kTileRows * stack.scales_of_16();  // of a tile
  std::vector<TernaryMatrix> parts;
  for (const TernaryMatrix::Part& part : stack.parts) {
    const std::size_t first = part.first_row / rows;
    TernaryMatrix matrix;
    matrix.layout = stack.layout;
    matrix.cols = stack.cols;
    matrix.num_blocks = stack.num_blocks;
    matrix.num_tiles = (part.rows + rows - 1) / rows;
    matrix.parts = {part};
    matrix.parts.front().first_row = 0;
    matrix.tiles = stack.tiles.Part(first * bytes, matrix.num_tiles * bytes);
    matrix.scales_per_block = stack.scales_per_block;
    if (stack.half_scales.size() != 0) {
      matrix.half_scales = stack.half_scales.Part(first * scales, matrix.num_tiles * scales);
    } else if (stack.grouped()) {
      matrix.group_scales = stack.group_scales.Part(first * scales, matrix.num_tiles * scales);
    }
    parts.push_back(std::move(matrix));
  }
  return parts;
}

}  // namespace bittern::model
