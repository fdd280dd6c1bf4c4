// SPDX-License-Identifier: Apache-2.0
// A mixture of experts in place of one feed-forward network. n is the layer's normed input:
//
//   s = R n                              in floats, of every expert
//   chosen: the experts with the largest s, best first; of equal ones the first
//   w_i = exp(s_i - s_0) / sum of these over the chosen: a softmax over all experts, divided by the
//         sum of the chosen ones, from which the sum over all cancels
//   f_i = silu(min(gate_i n, c)) * clamp(up_i n, -c, c)
//   h  += ((w_0 down_0 f_0 + w_1 down_1 f_1) + w_2 down_2 f_2) + ...      in floats
//
// A token's experts are computed alone and added in the order of their ranks, so batches, threads
// and the order of experts change no bit. Experts that no token of a pass has chosen are not read.
#pragma once

#include <span>

#include "model/forward/context.hpp"

namespace bittern::model {

/// The `experts.size()` largest scores of a token, best first, of equal ones the first; and the
/// weights of those experts. False, with the first experts and weights of 0, where a score is not
/// finite.
[[nodiscard]] bool ChooseExperts(std::span<const float> scores, std::span<std::uint32_t> experts,
                                 std::span<float> weights) noexcept;

/// Chooses experts for every token, then the gates and ups of those: a token's row of `out` has the
/// gates of its experts by rank, then their ups. `in`: the quantised n; state.router_input: n. No
/// barrier at the end.
void ForwardExpertsUp(const Context& context, const LayerWeights& layer, const QuantizedRows& in,
                      FloatRows out);

/// A token's gates and ups within their limits, in place.
void ClampGates(const ExpertWeights& experts, float* gates, float* ups) noexcept;

/// The mixture, from every token's f of its experts by rank. Barriers before and behind.
void ForwardExpertsDown(const Context& context, const LayerWeights& layer, const QuantizedRows& in,
                        FloatRows out);

}  // namespace bittern::model
