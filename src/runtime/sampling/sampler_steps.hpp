// SPDX-License-Identifier: Apache-2.0
// The steps of the sampler chain, each a function over a list of candidates. Every order and
// every sum is written down, so a step gives the same list on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tokenizer/tokenizer.hpp"

namespace bittern::runtime {

/// A token that may still be picked. Steps expect and keep finite logits.
struct Candidate {
  tokenizer::TokenId id;
  float logit;
};
using Candidates = std::vector<Candidate>;

/// The id of the highest logit, the lowest among equals; NaN never wins. -1 if no logit is above
/// -infinity.
[[nodiscard]] tokenizer::TokenId Argmax(std::span<const float> logits) noexcept;

/// One candidate per logit, by ascending id. NaN and -infinity drop out; +infinity counts as
/// the largest float.
void CollectCandidates(std::span<const float> logits, Candidates* candidates);

/// The highest logit; the lowest id among equals. `candidates` is not empty.
[[nodiscard]] Candidate Best(const Candidates& candidates) noexcept;

/// Puts the `count` best candidates first, best first: logit descending, then id ascending.
void SortBest(std::size_t count, Candidates* candidates);

/// Keeps the k >= 1 best, sorted.
void KeepTopK(std::size_t k, Candidates* candidates);

/// Keeps the fewest best candidates whose probability (softmax of all) reaches p, at least one and
/// at least `min_keep`, sorted (Holtzman et al., arXiv:1904.09751).
void KeepTopP(double p, Candidates* candidates, std::size_t min_keep = 0);

/// Keeps candidates whose probability is at least p times the best one's; the best stays
/// whatever p is (Nguyen et al., arXiv:2407.01082). The order stays, but where fewer than
/// `min_keep` would be left: then these are the best, sorted.
void KeepMinP(double p, Candidates* candidates, std::size_t min_keep = 0);

/// The candidate at which the running sum of softmax(logit / temperature), in list order, passes
/// `uniform`, a number in [0, 1). temperature > 0.
[[nodiscard]] tokenizer::TokenId Draw(double temperature, double uniform,
                                      const Candidates& candidates);

/// The next 64 bits of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators", 2014): a counter, mixed. Any state is a good one.
[[nodiscard]] std::uint64_t NextRandom(std::uint64_t* state) noexcept;

/// The top 53 bits as a multiple of 2^-53 in [0, 1).
[[nodiscard]] double ToUniform(std::uint64_t bits) noexcept;

}  // namespace bittern::runtime
