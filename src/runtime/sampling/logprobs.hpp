// SPDX-License-Identifier: Apache-2.0
// How probable the model found a token: log-softmax of the logits as the model gave them, before
// biases, penalties, masks and temperature. OpenAI's and llama.cpp's servers mean the same number.
// Or how probable the draw was, after all of these: llama.cpp's "post_sampling_probs".
#pragma once

#include <span>
#include <vector>

#include "tokenizer/tokenizer.hpp"

namespace bittern::runtime {

struct TokenProbability;

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

/// `logits` are finite, `id` is one of theirs; the `count` best, or all there are. Sums in double
/// by ascending id: the same on every machine.
[[nodiscard]] TokenLogprobs LogprobsOf(std::span<const float> logits, tokenizer::TokenId id,
                                       int count);

/// How probable the draw was: of `id`, and then of the `count` best. `drawn_from` is
/// Sampler::LastCandidates() of it, in any order. Tokens of probability 0 are left out; as `id`
/// such a one has minus infinity.
[[nodiscard]] std::vector<TokenLogprob> LogprobsOfDraw(std::span<const TokenProbability> drawn_from,
                                                       tokenizer::TokenId id, int count);

}  // namespace bittern::runtime
