// SPDX-License-Identifier: Apache-2.0
// The scan of a head of ternary weights (ScreenedHead::codes): vectors of 8 bits with a scale for
// every 64 columns meet all of its weights. What 8 bits leave of a vector counts in every bound.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/memory/aligned_buffer.hpp"
#include "base/result.hpp"
#include "base/threads/thread_pool.hpp"
#include "kernels/kernel.h"
#include "model/screen/screen_bounds.hpp"
#include "model/ternary_matrix.hpp"

namespace bittern::kernels {
struct Kernels;
}

namespace bittern::model {

/// A vector for such a scan; sums and scales of its groups beside it.
struct CodesVector {
  AlignedBuffer<std::int8_t> values;  // (padded columns)
  std::vector<std::int32_t> sums;
  std::vector<float> scales;

  /// Error: kOutOfMemory.
  [[nodiscard]] static Result<CodesVector> Create(std::size_t padded_cols);
};

/// One thread's memory for scans.
struct CodesScratch {
  std::vector<kernels::GroupedToken> vectors;  // of a scan
  AlignedBuffer<float> scales;                 // of kScanTiles tiles
  AlignedBuffer<std::uint8_t> unpacked;        // kernels::GroupedGemmArgs

  /// Error: kOutOfMemory.
  [[nodiscard]] static Result<CodesScratch> Create(const TernaryMatrix& codes,
                                                   std::size_t num_vectors);
};

/// x: (cols). `size` and `rest_size` bound estimates as those of Quantize do; not finite where x is
/// not.
[[nodiscard]] QuantizedVector QuantizeForCodes(const kernels::FloatOps& ops, const float* x,
                                               std::size_t cols, CodesVector* out);

/// Estimates of the rows of some tiles for the vectors of `scratch`, each from its `out` on, which
/// moves behind them.
void EstimateByCodes(const kernels::Kernels& kernels, const TernaryMatrix& codes, Range tiles,
                     CodesScratch* scratch);

}  // namespace bittern::model
