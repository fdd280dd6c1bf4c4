// SPDX-License-Identifier: Apache-2.0
// gate_proj and up_proj without the rows of up_proj that squared ReLU makes meaningless
// (docs/design/0005-zero-skipping.md): where a token's gate is not positive, the product is zero
// whatever the row says. A single token does not read such rows; of several, each multiplies its
// own live ones of those that lie in the cache. The same bits as the dense way.
#pragma once

#include "model/context.hpp"

namespace bittern::model {

/// Whether it pays to take live terms by themselves, each of which costs `cost` times as much as in
/// dense tiles (kernels::SparseOps). What is gained must also pay for finding them.
[[nodiscard]] constexpr bool PaysToSkip(double share_of_live, float cost) noexcept {
  constexpr double kFinding = 0.05;
  return share_of_live * static_cast<double>(cost) + kFinding < 1;
}

/// state.gate_up[token][0..num_neurons) = max(gate, 0)^2 * up of the batch, whose quantised input
/// is in state.activations. Needs layer.skips_zeros(). No barrier at the end.
void GatedUp(const Context& context, const LayerWeights& layer);

}  // namespace bittern::model
