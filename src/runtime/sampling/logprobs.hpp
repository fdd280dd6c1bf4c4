// SPDX-License-Identifier: Apache-2.0
// Two kinds of log-probability. The model's is the log-softmax of its logits, before biases,
// penalties, masks and temperature; OpenAI's and llama.cpp's servers give the same number. The
// draw's is taken after all of these: llama.cpp's "post_sampling_probs".
#pragma once

#include <span>
#include <vector>

#include "tokenizer/tokenizer.hpp"

namespace bittern::runtime {

struct TokenProbability;

/// The most best tokens that front ends let a caller ask for.
inline constexpr int kMostLogprobs = 100;

struct TokenLogprob {
  tokenizer::TokenId id = 0;
  float logprob = 0;  ///< natural logarithm, <= 0
};

/// A token that was picked, and the most probable ones at its place.
struct TokenLogprobs {
  TokenLogprob picked = {};
  std::vector<TokenLogprob> top = {};   ///< best first, equals by ascending id
  std::vector<TokenLogprob> draw = {};  ///< LogprobsOfDraw, where it was asked for
};

/// The log-probability of `id` and of the `count` best tokens. `logits` are finite. Sums are taken
/// in double, by ascending id: they are the same on every machine.
[[nodiscard]] TokenLogprobs LogprobsOf(std::span<const float> logits, tokenizer::TokenId id,
                                       int count);

/// The draw's log-probability of `id`, then of the `count` best tokens. `drawn_from` is
/// Sampler::LastCandidates() of that draw, in any order. Best tokens of probability 0 are left out;
/// an `id` of probability 0 has minus infinity.
[[nodiscard]] std::vector<TokenLogprob> LogprobsOfDraw(std::span<const TokenProbability> drawn_from,
                                                       tokenizer::TokenId id, int count);

}  // namespace bittern::runtime
