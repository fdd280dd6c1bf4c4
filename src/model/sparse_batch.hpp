// SPDX-License-Identifier: Apache-2.0
// The feed-forward part of a batch of more than a few tokens without their zeros
// (docs/design/0005-zero-skipping.md). Here nothing is read less: a few rows, or a panel of
// columns, lie in the cache, and every token multiplies those that are live for it. The same bits
// as the dense way, since only terms that are zero are left out of sums of integers.
#pragma once

#include "model/context.hpp"

namespace bittern::model {

/// state.gate_up[token][0..num_neurons) = max(gate, 0)^2 * up of the batch, whose quantised input
/// is in state.activations. Needs layer.skips_zeros(). No barrier at the end.
void GatedUpOfBatch(const Context& context, int layer);

/// Quantises a token's `size` inputs of down_proj and lists those that are not zero, for
/// DownOfBatch. Any thread may take any token.
void QuantizeLive(const Context& context, std::size_t token, const float* x, std::size_t size);

/// state.projected = down_proj times what QuantizeLive has left. A barrier must lie between the
/// two. No barrier at the end.
void DownOfBatch(const Context& context, const LayerWeights& layer);

}  // namespace bittern::model
