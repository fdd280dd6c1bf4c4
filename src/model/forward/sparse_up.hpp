// SPDX-License-Identifier: Apache-2.0
// gate_proj and up_proj without the rows of up_proj that squared ReLU makes meaningless
// (docs/design/0005-zero-skipping.md): where a token's gate is not positive, the product is zero
// whatever the row says. A single token does not read such rows; of several, each multiplies its
// own live ones of those that lie in the cache. The same bits as the dense way.
#pragma once

#include "model/forward/context.hpp"

namespace bittern::model {

/// Puts a token's quantised input in order for GatedUp, beside the input itself. Any thread may
/// take any token. Of models whose layers skip zeros.
void OrderUpInput(const Context& context, std::size_t token, const QuantizedRows& in);

/// product.row(token)[0..num_neurons) = max(gate, 0)^2 * up of `in`, all of whose tokens
/// OrderUpInput has seen; gate lies where the product comes to lie. up: room for (tokens, rows of
/// up_proj). Needs layer.skips_zeros(). No barrier at the end.
void GatedUp(const Context& context, const LayerWeights& layer, const QuantizedRows& in,
             FloatRows product, FloatRows up);

}  // namespace bittern::model
