// SPDX-License-Identifier: Apache-2.0
// Steps that change single logits: biases, penalties for recent tokens, and DRY.
#pragma once

#include <span>
#include <vector>

#include "runtime/sampling/options.hpp"
#include "runtime/sampling/sampler_steps.hpp"

namespace bittern::runtime {

/// Adds each bias to its token; -infinity drops the token. `candidates` are by ascending id,
/// finite.
void ApplyLogitBias(std::span<const LogitBias> biases, Candidates* candidates);

struct Penalties {
  float repeat = 1;  ///< > 0: divides positive logits, multiplies the others (arXiv:1909.05858)
  float frequency = 0, presence = 0;  ///< taken off: per time, and once
};

/// Penalises each token of `recent` that is a candidate.
void ApplyPenalties(std::span<const TokenId> recent, const Penalties& penalties,
                    Candidates* candidates);

/// How much of the end of `history` each of its tokens would repeat: for every earlier position
/// that is preceded by the last n tokens (for the largest n, up to `longest`), (token there, n).
/// One pass over the history.
struct Repetition {
  TokenId id;
  std::size_t length;
};
[[nodiscard]] std::vector<Repetition> FindRepetitions(std::span<const TokenId> history,
                                                      std::size_t longest);

struct Dry {
  float multiplier = 0, base = 1.75f;
  int allowed_length = 2;
};

/// "Don't repeat yourself" (p-e-w, 2024): a token that would make the last n tokens, n >=
/// allowed_length, go on as they did before loses multiplier * base^(n - allowed_length).
/// Repetitions do not reach back over a breaker: `since_breaker` is how many tokens at the end of
/// `history` follow the last one (its size, if there is none).
void ApplyDry(std::span<const TokenId> history, std::size_t since_breaker, const Dry& dry,
              Candidates* candidates);

}  // namespace bittern::runtime
