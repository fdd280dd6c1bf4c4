// SPDX-License-Identifier: Apache-2.0
// Grouped-query attention with rotary positions over the KV cache.
#pragma once

#include "model/forward/context.hpp"

namespace bittern::model {

/// Cuts the attention of a batch into calls of the kernel, the same in every layer, for a team of
/// up to `threads`. By one thread before the pass.
void PlanAttention(const ModelConfig& config, std::span<const Segment> segments,
                   std::size_t threads, std::vector<AttentionItem>* items);

/// Fills state.cosine and state.sine for the positions of this batch (RoFormer,
/// arXiv:2104.09864): angle = position * inv_freq in double, one rounding to float. No barrier at
/// the end.
void ComputeRopeAngles(const Context& context);

/// From qkv_proj's output of the batch to (num_tokens, q_size): rotates q and k in place
/// (half-split pairs), appends k and v to the sequences' pages, attends causally. Begins with a
/// barrier, ends with none.
void Attend(const Context& context, const LayerWeights& layer, FloatRows qkv, FloatRows attended);

}  // namespace bittern::model
