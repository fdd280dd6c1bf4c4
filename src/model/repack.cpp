// SPDX-License-Identifier: Apache-2.0
#include "model/repack.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cmath>

#include "model/tensor_binder.hpp"
#include "quant/i2s.hpp"
#include "quant/tile16.hpp"

namespace bittern::model {
namespace {

constexpr std::size_t kNone = ~std::size_t{0};

Result<float> CheckedScale(const formats::Tensor& tensor, float extra) {
  const float scale = quant::I2sScale(tensor.bytes) * extra;
  if (!std::isfinite(scale) || scale <= 0) {
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("{}: expected a finite positive scale, found {}",
                            TensorPrefix(tensor.name), scale));
  }
  return scale;
}

/// Repacks one tensor into its tiles; returns the index of an invalid weight or kNone.
std::size_t RepackTensor(const formats::Tensor& tensor, std::uint8_t* tiles, ThreadPool& pool) {
  const std::size_t cols = tensor.row_elements(), rows = tensor.rows();
  const std::size_t row_bytes = quant::I2sRowBytes(cols), tile_bytes = quant::TileBytes(cols);
  const std::size_t num_tiles = quant::TilesOfRows(rows);
  std::atomic<std::size_t> invalid{kNone};
  pool.Run([&](Team& team) {
    const Range range = team.Share(num_tiles);
    for (std::size_t t = range.begin; t < range.end; ++t) {
      const std::size_t row = t * quant::kTileRows;
      const std::size_t count = std::min(quant::kTileRows, rows - row);
      const auto source = tensor.bytes.subspan(row * row_bytes, count * row_bytes);
      if (const auto bad = quant::FindInvalidI2sCode(source)) {
        const std::size_t index = row * cols + *bad;
        std::size_t seen = invalid.load();
        while (index < seen && !invalid.compare_exchange_weak(seen, index)) {
        }
        return;
      }
      quant::RepackI2sTile(source.data(), count, cols / quant::kTileBlock, tiles + t * tile_bytes);
    }
  });
  return invalid.load();
}

}  // namespace

Result<TernaryMatrix> StackTernary(std::span<const formats::Tensor* const> tensors,
                                   std::span<const float> scales, ThreadPool& pool) {
  TernaryMatrix matrix;
  matrix.cols = tensors[0]->row_elements();
  matrix.num_blocks = quant::BlocksOfCols(matrix.cols);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const formats::Tensor& tensor = *tensors[i];
    if (tensor.format != quant::WeightFormat::kI2_S) {
      return Fail(ErrorCode::kUnsupported,
                  fmt::format("{}: expected ternary weights in I2_S, found {}",
                              TensorPrefix(tensor.name), quant::InfoOf(tensor.format).name));
    }
    const float scale = BITTERN_TRY(CheckedScale(tensor, scales[i]));
    matrix.parts.push_back({matrix.padded_rows(), tensor.rows(), scale});
    matrix.num_tiles += quant::TilesOfRows(tensor.rows());
  }
  matrix.tiles = BITTERN_TRY(AlignedBuffer<std::uint8_t>::Create(
      matrix.num_tiles * quant::TileBytes(matrix.cols), TensorPrefix(tensors[0]->name)));
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::size_t first_tile = matrix.parts[i].first_row / quant::kTileRows;
    const std::size_t bad = RepackTensor(
        *tensors[i], matrix.tiles.data() + first_tile * quant::TileBytes(matrix.cols), pool);
    if (bad != kNone) {
      return Fail(
          ErrorCode::kCorruptFile,
          fmt::format("{}: code 3 at row {}, column {}; codes are 0, 1 and 2",
                      TensorPrefix(tensors[i]->name), bad / matrix.cols, bad % matrix.cols));
    }
  }
  return matrix;
}

}  // namespace bittern::model
