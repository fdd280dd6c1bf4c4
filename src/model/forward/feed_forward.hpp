// SPDX-License-Identifier: Apache-2.0
// The feed-forward part of a layer: f = act(gate(n)) * up(n), n = norm(h); h += down_proj(sub_norm(
// f)). Networks without sub-norms (architecture.hpp) quantise f as it is. Dense, or without the
// terms that are zero (docs/design/0005-zero-skipping.md), with the same bits. Or a mixture of
// experts (experts.hpp).
#pragma once

#include "model/forward/context.hpp"

namespace bittern::model {

/// A token's n from h, as gate_proj and up_proj read it. Any thread may take any token.
void NormForFeedForward(const Context& context, std::size_t token, const LayerWeights& layer,
                        FloatRows hidden, const QuantizedRows& out);

/// The rest, of all tokens: `in` is what NormForFeedForward has made, with a barrier in between;
/// hidden is h. No barrier at the end.
void AddFeedForward(const Context& context, const LayerWeights& layer, const QuantizedRows& in,
                    FloatRows hidden);

}  // namespace bittern::model
