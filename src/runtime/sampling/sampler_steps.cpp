// SPDX-License-Identifier: Apache-2.0
// Softmax is never stored: each step needs only exp(logit - best), from our own exp, summed in
// double in list order.
#include "runtime/sampling/sampler_steps.hpp"

#include <algorithm>
#include <limits>

#include "base/portable_math.hpp"

namespace bittern::runtime {
namespace {

constexpr float kLargestFloat = std::numeric_limits<float>::max();

/// The order of candidates: the highest logit first, the lower id among equals, so that no result
/// depends on the sorting algorithm.
bool Before(const Candidate& a, const Candidate& b) noexcept {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

/// exp(logit - best), a probability but for the common divisor.
double Weight(const Candidate& candidate, float best) noexcept {
  return Exp(static_cast<double>(candidate.logit) - static_cast<double>(best));
}

std::ptrdiff_t Signed(std::size_t n) noexcept { return static_cast<std::ptrdiff_t>(n); }

}  // namespace

tokenizer::TokenId Argmax(std::span<const float> logits) noexcept {
  tokenizer::TokenId best = -1;
  float highest = -std::numeric_limits<float>::infinity();
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (!(logits[i] > highest)) continue;
    highest = logits[i];
    best = static_cast<tokenizer::TokenId>(i);
  }
  return best;
}

void CollectCandidates(std::span<const float> logits, Candidates* candidates) {
  candidates->resize(logits.size());
  std::size_t count = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    // Written always and counted only if kept: no branch to mispredict. False for NaN.
    (*candidates)[count] = {static_cast<tokenizer::TokenId>(i), std::min(logits[i], kLargestFloat)};
    count += logits[i] >= -kLargestFloat ? 1 : 0;
  }
  candidates->resize(count);
}

Candidate Best(const Candidates& candidates) noexcept {
  return *std::min_element(candidates.begin(), candidates.end(), Before);
}

void SortBest(std::size_t count, Candidates* candidates) {
  // For few of many, a heap touches each element once; beyond that selecting is cheaper.
  constexpr std::size_t kHeapLimit = 256;
  const auto begin = candidates->begin(), end = candidates->end();
  const auto middle = begin + Signed(std::min(count, candidates->size()));
  if (count <= kHeapLimit) {
    std::partial_sort(begin, middle, end, Before);
    return;
  }
  if (middle != end) std::nth_element(begin, middle, end, Before);
  std::sort(begin, middle, Before);
}

void KeepTopK(std::size_t k, Candidates* candidates) {
  const std::size_t kept = std::min(k, candidates->size());
  SortBest(kept, candidates);
  candidates->resize(kept);
}

void KeepTopP(double p, Candidates* candidates, std::size_t min_keep) {
  const float best = Best(*candidates).logit;
  double total = 0;
  for (const Candidate& candidate : *candidates) total += Weight(candidate, best);
  // Few candidates usually suffice, so only as many are sorted as turn out to be needed.
  double sum = 0;
  std::size_t kept = 0, sorted = 0;
  do {
    if (kept == sorted) {
      sorted = std::min(candidates->size(), std::max<std::size_t>(64, 4 * sorted));
      SortBest(sorted, candidates);
    }
    sum += Weight((*candidates)[kept++], best);
  } while ((sum < p * total || kept < min_keep) && kept < candidates->size());
  candidates->resize(kept);
}

void KeepMinP(double p, Candidates* candidates, std::size_t min_keep) {
  const float best = Best(*candidates).logit;
  const auto drops = [&](const Candidate& candidate) {
    return candidate.logit != best && Weight(candidate, best) < p;
  };
  if (min_keep > 1) {
    const auto dropped = std::count_if(candidates->begin(), candidates->end(), drops);
    if (candidates->size() - static_cast<std::size_t>(dropped) < min_keep) {
      return KeepTopK(min_keep, candidates);
    }
  }
  std::erase_if(*candidates, drops);
}

tokenizer::TokenId Draw(double temperature, double uniform, const Candidates& candidates) {
  const double best = static_cast<double>(Best(candidates).logit);
  std::vector<double> running;
  running.reserve(candidates.size());
  double total = 0;
  for (const Candidate& candidate : candidates) {
    total += Exp((static_cast<double>(candidate.logit) - best) / temperature);
    running.push_back(total);
  }
  // The first entry above the target. uniform < 1 but the product may round up to `total`;
  // then the last candidate with any weight is the answer.
  const auto above = std::upper_bound(running.begin(), running.end(), uniform * total);
  const auto found =
      above != running.end() ? above : std::lower_bound(running.begin(), running.end(), total);
  return candidates[static_cast<std::size_t>(found - running.begin())].id;
}

/// SplitMix64 (Steele, Lea, Flood 2014).
std::uint64_t NextRandom(std::uint64_t* state) noexcept {
  *state += 0x9e3779b97f4a7c15u;  // 2^64 / golden ratio, odd: the counter visits every value
  std::uint64_t z = *state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// The top 53 bits as a fraction in [0, 1): as many as a double holds exactly.
double ToUniform(std::uint64_t bits) noexcept { return static_cast<double>(bits >> 11) * 0x1p-53; }

}  // namespace bittern::runtime
