// SPDX-License-Identifier: Apache-2.0
// The feed-forward part of a few tokens without their zeros (docs/design/0005-zero-skipping.md).
// Squared ReLU makes exact zeros: where the gate is not positive, up_proj's row need not be read;
// where the product is zero after quantisation, neither need down_proj's column. The same bits as
// the dense way, since only terms that are zero are left out of sums of integers.
#pragma once

#include <cstdint>

namespace bittern::model {

struct Context;

/// What was read and what was there, summed over layers and tokens.
struct SkipStats {
  std::uint64_t up_rows = 0, live_up_rows = 0;
  std::uint64_t down_columns = 0, live_down_columns = 0;
};

/// state.gate_up[token][0..intermediate_size) = max(gate, 0)^2 * up of a few tokens, whose
/// quantised input is in state.activations. A row is left out where no token needs it. Needs
/// layer.skips_zeros(). No barrier at the end.
void GatedUpSkipping(const Context& context, int layer);

/// hidden += down_proj times state.activations (a few tokens). No barrier at the end.
void AddDownSkipping(const Context& context, int layer);

}  // namespace bittern::model
