// SPDX-License-Identifier: Apache-2.0
// Neurons of a feed-forward part whose gate is zero whatever comes in, because all its weights are
// (4.8% of BitNet b1.58 2B-4T's, 44% in one layer): with squared ReLU their product is zero, so
// their rows of gate_proj and up_proj and their column of down_proj need not be kept.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/threads/thread_pool.hpp"
#include "formats/ternary_source.hpp"

namespace bittern::model {

/// 1 for each row of the tensor that has no weight other than 0. Rows that cannot be read count as
/// having one: repacking reports what is wrong with them.
[[nodiscard]] std::vector<std::uint8_t> ZeroRows(const formats::TernarySource& source,
                                                 ThreadPool& pool);

/// The neurons to keep, in the order they are kept in; empty where all are, in their own order.
/// Sums of floats run in 16 lanes (docs/design/0001-numerics.md), so every neuron stays in its
/// lane, behind the same ones as before; lanes with fewer live ones are filled up with dead ones of
/// theirs. So the sums are those over all neurons, bit for bit.
[[nodiscard]] std::vector<std::uint32_t> KeptNeurons(std::span<const std::uint8_t> dead);

}  // namespace bittern::model
