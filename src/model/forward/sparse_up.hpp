// SPDX-License-Identifier: Apache-2.0
// gate_proj and up_proj without the rows of up_proj that squared ReLU makes meaningless
// (docs/design/0005-zero-skipping.md): where a token's gate is not positive, the product is zero
// whatever the row says. A single token does not read such rows; of several, each multiplies its
// own live ones of those that lie in the cache. The same bits as the dense way.
#pragma once

#include "model/forward/context.hpp"

namespace bittern::model {

/// Puts a token's quantised input, which is in state.activations, in order for GatedUp. Any thread
/// may take any token. Needs layer.skips_zeros().
void OrderUpInput(const Context& context, const LayerWeights& layer, std::size_t token);

/// state.gate_up[token][0..num_neurons) = max(gate, 0)^2 * up of the batch, all of whose tokens
/// OrderUpInput has seen. Needs layer.skips_zeros(). No barrier at the end.
void GatedUp(const Context& context, const LayerWeights& layer);

}  // namespace bittern::model
