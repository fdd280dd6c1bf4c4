// SPDX-License-Identifier: Apache-2.0
// gate_proj and up_proj without the rows of up_proj that squared ReLU makes meaningless
// (docs/design/0005-zero-skipping.md): where a token's gate is not positive, the product is zero
// whatever the row says. A single token does not read such rows; of several, each multiplies its
// own live ones of those that lie in the cache. The same bits as the dense way.
#pragma once

#include "model/context.hpp"

namespace bittern::model {

/// state.gate_up[token][0..num_neurons) = max(gate, 0)^2 * up of the batch, whose quantised input
/// is in state.activations. Needs layer.skips_zeros(). No barrier at the end.
void GatedUp(const Context& context, const LayerWeights& layer);

}  // namespace bittern::model
