// SPDX-License-Identifier: Apache-2.0
// The kernel takes groups of 16, 8 or 4 vectors; the last group is filled up with zeros. In a
// group, four bytes of the first vector come first, then the same four of the second, and so on:
// the kernel broadcasts four bytes at a time.
#include "model/screen/screen_together.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/kernel.h"
#include "model/screened_head.hpp"
#include "quant/layouts/screen_planes.hpp"
#include "quant/layouts/tile16.hpp"

namespace bittern::model {
namespace {

using quant::kTileRows;

constexpr std::size_t kMostInGroup = 16;

std::size_t GroupSize(std::size_t vectors_left) {
  if (vectors_left >= kMostInGroup) return kMostInGroup;
  return vectors_left >= 8 ? 8 : 4;
}

/// Estimates of one tile for one vector, from its sums.
void StoreEstimates(const TogetherVector& vector, const float* steps, std::size_t tile,
                    const std::int32_t* sums) {
  float* estimates = vector.estimates + tile * kTileRows;
  for (std::size_t r = 0; r < kTileRows; ++r) {
    // 2 * u - 31 is twice what u, of 0 to 31, lies above the middle.
    estimates[r] = static_cast<float>(2 * sums[r] - 31 * vector.sum) *
                   (vector.factor * steps[tile * kTileRows + r]);
  }
  vector.tile_best[tile] = *std::max_element(estimates, estimates + kTileRows);
}

}  // namespace

std::size_t TogetherActs(std::size_t num_vectors, std::size_t padded_cols) noexcept {
  return (num_vectors + 3) / 4 * 4 * padded_cols;
}

std::size_t TogetherSums() noexcept { return kTilesTogether * kMostInGroup * kTileRows; }

void GatherTogether(std::span<const TogetherVector> vectors, std::size_t padded_cols,
                    std::int8_t* acts) {
  std::fill_n(acts, TogetherActs(vectors.size(), padded_cols), std::int8_t{0});
  for (std::size_t first = 0; first < vectors.size();) {
    const std::size_t size = GroupSize(vectors.size() - first);
    std::int8_t* group = acts + first * padded_cols;
    for (std::size_t v = 0; v < std::min(size, vectors.size() - first); ++v) {
      for (std::size_t c = 0; c < padded_cols; c += 4) {
        std::memcpy(group + c * size + 4 * v, vectors[first + v].acts + c, 4);
      }
    }
    first += size;
  }
}

void EstimateTogether(const kernels::ScreenOps& ops, const ScreenedHead& head, Range tiles,
                      std::span<const TogetherVector> vectors, const std::int8_t* acts,
                      std::int32_t* sums) {
  const std::size_t cols = head.padded_cols;
  for (std::size_t first = 0; first < vectors.size();) {
    const std::size_t size = GroupSize(vectors.size() - first);
    const kernels::FiveScanArgs args{
        .nibbles = head.nibbles.data() + tiles.begin * quant::NibbleTileBytes(cols),
        .bits = head.bits.data() + tiles.begin * quant::BitTileBytes(cols),
        .num_tiles = tiles.end - tiles.begin,
        .cols = cols,
        .acts = acts + first * cols,
        .num_vectors = size,
        .sums = sums};
    ops.scan_five(&args);
    for (std::size_t v = 0; v < std::min(size, vectors.size() - first); ++v) {
      for (std::size_t t = tiles.begin; t < tiles.end; ++t) {
        StoreEstimates(vectors[first + v], head.step.data(), t,
                       sums + ((t - tiles.begin) * size + v) * kTileRows);
      }
    }
    first += size;
  }
}

}  // namespace bittern::model
