// SPDX-License-Identifier: Apache-2.0
// Steps that heat or cool: dynamic temperature, mirostat, adaptive-p.
#pragma once

#include <cstddef>

#include "runtime/sampling/sampler_steps.hpp"

namespace bittern::runtime {

/// Divides all logits by a temperature > 0.
void Scale(double temperature, Candidates* candidates);

/// The temperature between `temperature` - `range` (0 at least) and `temperature` + `range` that
/// the entropy of the candidates, as a share of the largest there can be, to the power of
/// `exponent`, points to. 0 at two equal limits of 0: greedy.
[[nodiscard]] double DynamicTemperature(double temperature, double range, double exponent,
                                        const Candidates& candidates);

/// Mirostat (Basu et al., arXiv:2007.14966): keeps the surprise of a text near tau bits a token.
struct Mirostat {
  double tau = 5, eta = 0.1;
  double mu = 10;  ///< the bound on surprise; begins at 2 tau

  /// Keeps, sorted, as many candidates as the bound allows, by an estimate of Zipf's exponent from
  /// the best 100. `vocab_size` is the number of all tokens.
  void Truncate1(std::size_t vocab_size, Candidates* candidates) const;
  /// Keeps, sorted, the candidates of at most mu bits, at least one.
  void Truncate2(Candidates* candidates) const;
  /// A candidate of this probability, among those kept, was picked.
  void Observe(double probability) noexcept;
};

/// Adaptive-p (MrJackSpade, 2025): prefers tokens of a probability near a target, which moves so
/// that the mean of what is picked, over about 1 / (1 - decay) tokens, comes out at it.
struct AdaptiveP {
  double target = -1, decay = 0.9;
  double weighted_sum = 0, total_weight = 0;

  /// As if the target had been met all along.
  [[nodiscard]] static AdaptiveP Begin(double target, double decay) noexcept;
  /// Replaces each logit by one that falls with the distance of its probability from the target.
  void Transform(Candidates* candidates) const;
  /// A token of this probability, before Transform, was picked.
  void Observe(double probability) noexcept;
};

}  // namespace bittern::runtime
