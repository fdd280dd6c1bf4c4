// SPDX-License-Identifier: Apache-2.0
// The two ends of the network: token ids to hidden states, hidden states to logits.
#pragma once

#include <span>

#include "model/forward/context.hpp"

namespace bittern::model {

/// state.hidden[token] = the embedding's row, as float. No barrier at the end.
void EmbedTokens(const Context& context);

/// out[r] = dot(row first + r of the matrix, x), r < count. The one way logits are computed.
void DotRows(const Context& context, const DenseMatrix& matrix, std::size_t first,
             std::size_t count, const float* x, float* out);

/// The logits of all rows whose segments want them: state.dense_rows by the whole head,
/// state.screened_rows by the screened one, state.chosen_rows token by token. Collective; begins
/// and ends with a barrier. Does nothing where no row is wanted.
void ComputeLogits(const Context& context);

}  // namespace bittern::model
