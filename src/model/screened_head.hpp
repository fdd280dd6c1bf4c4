// SPDX-License-Identifier: Apache-2.0
// The output head by elimination (docs/design/0004-screened-head.md). Beside the head stands a
// coarse copy of it in bit planes, with the exact size of what each plane leaves out. So a scan of
// the copy bounds every logit from both sides. Rows that cannot be among the best are dropped; the
// few others are computed from the head itself, as a full scan would. Same logits, same
// candidates, a third of the memory traffic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "base/memory/aligned_buffer.hpp"
#include "base/result.hpp"
#include "base/threads/thread_pool.hpp"

namespace bittern::kernels {
struct Kernels;
}

namespace bittern::model {

struct DenseMatrix;

/// Immutable after Build.
struct ScreenedHead {
  std::size_t rows = 0, cols = 0;
  std::size_t padded_cols = 0;                           ///< quant::ScreenCols(cols)
  AlignedBuffer<std::uint8_t> nibbles, bits, pairs;      // quant/layouts/screen_planes.hpp
  AlignedBuffer<float> step, norm, rest4, rest5, rest7;  // (rows padded to 16): kernels::ScreenRow
  float largest_norm = 0;

  [[nodiscard]] bool empty() const noexcept { return rows == 0; }
  [[nodiscard]] std::size_t bytes() const noexcept {
    return nibbles.size() + bits.size() + pairs.size() + 5 * step.size() * sizeof(float);
  }

  /// Makes the copy with all threads of the pool; `done`, if any, is told by each of them which
  /// rows of the head it will not read again. An empty copy where a row is not finite (then nothing
  /// can be bounded). Error: kOutOfMemory.
  [[nodiscard]] static Result<ScreenedHead> Build(const DenseMatrix& head,
                                                  const kernels::Kernels& kernels, ThreadPool& pool,
                                                  const std::function<void(Range)>& done = {});
};

}  // namespace bittern::model
