// SPDX-License-Identifier: Apache-2.0
// A delta layer's part in place of attention: a recurrent state of a fixed size instead of keys and
// values of every position (gated delta networks, arXiv:2412.06464; as Qwen 3.5 has them). A
// token has the projections m (the mix) and z (the gate). Then:
//
//   q, k, v = silu(conv(m of this and the last tokens))
//   q, k    = q / |q| / sqrt(head_dim), k / |k|            of each key head
//   S       = decay * S + k (rate * (v - decay * S^T k))^T   of each value head
//   out     = norm(S^T q) * silu(z)
//
// rate = sigmoid(B x), decay = exp(A softplus(C x + bias)), x the layer's normed input in floats.
// The state is float32 and its sums run in one written order, token by token, so chunks, batches
// and threads change no bit.
#pragma once

#include "model/forward/context.hpp"

namespace bittern::model {

/// A token's rates and decays, from its normed input. Any thread may take any token.
void ComputeDeltaGates(const Context& context, std::size_t token, const LayerWeights& layer,
                       const float* normed);

/// Runs the tokens of each segment through its sequence's state, in their order. `projected`: of
/// qkv_proj. On all threads; barriers before and behind.
void RunDelta(const Context& context, const LayerWeights& layer, FloatRows projected,
              FloatRows out);

}  // namespace bittern::model
