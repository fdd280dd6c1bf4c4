// SPDX-License-Identifier: Apache-2.0
// Multiply-adds or tables across tokens for batches. Which is faster depends on how a core's loads
// and its multiplier compare, so it is measured, once a machine. No choice changes a bit of any
// result.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/threads/thread_pool.hpp"
#include "runtime/tune/layout_choice.hpp"

namespace bittern::kernels {
struct Kernels;
}

namespace bittern::runtime {

/// Under which a choice stands among LoadedModel::decisions.
inline constexpr std::string_view kBatchKernelSubject = "kernel of batches",
                                  kGroupedBatchKernelSubject = "kernel of batches with groups";

struct BatchKernelChoice {
  double vlut_gain = 0;  ///< model::LoadOptions::vlut_gain or grouped_vlut_gain
  std::string reason;
};

/// How many times as fast as Tile16Ops::gemm (or gemm_grouped) all threads of `pool` multiply some
/// 1,000 rows by 32 vectors with VlutOps: RatioOfLeast, some ten milliseconds in all. Error
/// kOutOfMemory.
[[nodiscard]] Result<double> MeasureVlutGain(ThreadPool& pool, const kernels::Kernels& kernels,
                                             ScaleKind kind);

/// The gain from `cache`, or measured and kept there; of models whose ternary matrices are small,
/// what is known of the kernels. Never fails: what cannot be measured is 0, not known.
[[nodiscard]] BatchKernelChoice ChooseBatchKernel(std::uint64_t ternary_bytes, ScaleKind kind,
                                                  const kernels::Kernels& kernels, ThreadPool& pool,
                                                  const LayoutCache& cache);

}  // namespace bittern::runtime
