// SPDX-License-Identifier: Apache-2.0
// The two ends of the network: token ids to hidden states, hidden states to logits.
#pragma once

#include <span>

#include "model/context.hpp"

namespace bittern::model {

/// state.hidden[token] = the embedding's row, as float. No barrier at the end.
void EmbedTokens(const Context& context, std::span<const std::int32_t> tokens);

/// out[r] = dot(row first + r of the matrix, x), r < count. The one way logits are computed.
void DotRows(const Context& context, const DenseMatrix& matrix, std::size_t first,
             std::size_t count, const float* x, float* out);

/// state.normed[i] = norm(hidden[first_token + i]), the input of the head. Begins and ends
/// with a barrier.
void NormForHead(const Context& context, std::size_t first_token, std::size_t count);

/// logits[i] (vocab_size floats each) = lm_head times norm(hidden[first_token + i]). The team
/// shares the vocabulary. Begins and ends with a barrier.
void ComputeLogits(const Context& context, std::size_t first_token, std::size_t count,
                   float* logits);

}  // namespace bittern::model
