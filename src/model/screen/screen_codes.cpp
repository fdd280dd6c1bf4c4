// SPDX-License-Identifier: Apache-2.0
// A few tiles at a time meet all vectors, so that their scales, widened, stay in the cache.
#include "model/screen/screen_codes.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "kernels/registry.hpp"
#include "quant/layouts/tile16.hpp"

namespace bittern::model {
namespace {

using kernels::kGroupCols;
using quant::kTileRows;

constexpr std::size_t kScanTiles = 4;

}  // namespace

Result<CodesVector> CodesVector::Create(std::size_t padded_cols) {
  CodesVector vector;
  vector.values = BITTERN_TRY(
      AlignedBuffer<std::int8_t>::Create(padded_cols, "the scratch memory of the output head"));
  vector.sums.resize(padded_cols / kGroupCols);
  vector.scales.resize(padded_cols / kGroupCols);
  return vector;
}

Result<CodesScratch> CodesScratch::Create(const TernaryMatrix& codes, std::size_t num_vectors) {
  const std::string what = "the scratch memory of the output head";
  CodesScratch scratch;
  scratch.vectors.reserve(num_vectors);
  scratch.scales = BITTERN_TRY(AlignedBuffer<float>::Create(
      kScanTiles * codes.num_blocks * codes.scales_per_block * kTileRows, what));
  scratch.unpacked = BITTERN_TRY(AlignedBuffer<std::uint8_t>::Create(
      kernels::kGemmTiles * codes.num_blocks * quant::kTileBlock * kTileRows, what));
  return scratch;
}

QuantizedVector QuantizeForCodes(const kernels::FloatOps& ops, const float* x, std::size_t cols,
                                 CodesVector* out) {
  QuantizedVector v;
  double size = 0, rest = 0, squares = 0;
  for (std::size_t begin = 0; begin < cols; begin += kGroupCols) {
    const std::size_t group = begin / kGroupCols, count = std::min(kGroupCols, cols - begin);
    std::int8_t* values = out->values.data() + begin;
    const float scale = ops.quantize_absmax(x + begin, count, values, &out->sums[group]);
    if (scale == 0) return v;  // not finite
    const float step = out->scales[group] = 1.0f / scale;
    for (std::size_t i = 0; i < count; ++i) {
      const double value = static_cast<double>(step) * values[i];
      const auto exact = static_cast<double>(x[begin + i]);
      size += value * value;
      rest += (exact - value) * (exact - value);
      squares += exact * exact;
    }
  }
  v.finite = std::isfinite(squares);
  v.size = static_cast<float>(std::sqrt(size)) * kWiden;
  v.rest_size = (static_cast<float>(std::sqrt(rest)) +
                 RoundingError(cols) * static_cast<float>(std::sqrt(squares) + std::sqrt(size))) *
                kWiden;
  return v;
}

void EstimateByCodes(const kernels::Kernels& kernels, const TernaryMatrix& codes, Range tiles,
                     CodesScratch* scratch) {
  const std::size_t of_tile = codes.scales_of_16();
  std::vector<kernels::GroupedToken>& vectors = scratch->vectors;
  for (std::size_t tile = tiles.begin; tile < tiles.end; tile += kScanTiles) {
    const std::size_t count = std::min(kScanTiles, tiles.end - tile);
    kernels.float32().widen_half(codes.half_scales.data() + tile * of_tile, count * of_tile,
                                 scratch->scales.data());
    MultiplyGrouped(kernels, codes, {tile, tile + count}, scratch->scales.data(), {vectors, 4},
                    {scratch->unpacked.data(), nullptr});
    for (kernels::GroupedToken& vector : vectors) vector.out += count * kTileRows;
  }
}

}  // namespace bittern::model
