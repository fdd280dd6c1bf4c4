// SPDX-License-Identifier: Apache-2.0
// From ternary tensors as they lie in the file to stacked Tile16 matrices.
#pragma once

#include <span>

#include "base/thread_pool.hpp"
#include "formats/checkpoint.hpp"
#include "model/weights.hpp"

namespace bittern::model {

/// Stacks I2_S tensors of equal row length. scales[i] multiplies the scale in tensor i's tail
/// (1 where the file has no separate scale). Rows are repacked by all threads of the pool.
/// Errors: kUnsupported (another format), kCorruptFile (code 3; scale not finite or not
/// positive), naming tensor, row and column; kOutOfMemory.
[[nodiscard]] Result<TernaryMatrix> StackTernary(std::span<const formats::Tensor* const> tensors,
                                                 std::span<const float> scales, ThreadPool& pool);

}  // namespace bittern::model
