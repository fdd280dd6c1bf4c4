// SPDX-License-Identifier: Apache-2.0
// The two ends of the network: token ids to hidden states, hidden states to logits.
#pragma once

#include <span>

#include "model/context.hpp"

namespace bittern::model {

/// state.hidden[token] = the embedding's row, as float. Ends with a barrier.
void EmbedTokens(const Context& context, std::span<const std::int32_t> tokens);

/// logits[i] (vocab_size floats each) = lm_head times norm(hidden[first_token + i]). The team
/// shares the vocabulary. Ends with a barrier.
void ComputeLogits(const Context& context, std::size_t first_token, std::size_t count,
                   float* logits);

}  // namespace bittern::model
