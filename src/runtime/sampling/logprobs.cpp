// SPDX-License-Identifier: Apache-2.0
#include "runtime/sampling/logprobs.hpp"

#include <algorithm>
#include <limits>

#include "base/portable_math.hpp"
#include "runtime/sampling/sampler.hpp"
#include "runtime/sampling/sampler_steps.hpp"

namespace bittern::runtime {

TokenLogprobs LogprobsOf(std::span<const float> logits, tokenizer::TokenId id, int count) {
  const auto best = static_cast<double>(*std::ranges::max_element(logits));
  double total = 0;
  for (const float logit : logits) total += Exp(static_cast<double>(logit) - best);
  const double base = best + Log(total);
  const auto logprob = [&](float logit) {
    return static_cast<float>(std::min(static_cast<double>(logit) - base, 0.0));
  };
  TokenLogprobs result{.picked = {id, logprob(logits[static_cast<std::size_t>(id)])}};
  if (count <= 0) return result;
  Candidates candidates;
  CollectCandidates(logits, &candidates);
  KeepTopK(static_cast<std::size_t>(count), &candidates);
  for (const Candidate& candidate : candidates) {
    result.top.push_back({candidate.id, logprob(candidate.logit)});
  }
  return result;
}

std::vector<TokenLogprob> LogprobsOfDraw(std::span<const TokenProbability> drawn_from,
                                         tokenizer::TokenId id, int count) {
  const auto logprob = [](const TokenProbability& token) {
    return TokenLogprob{token.id, static_cast<float>(std::min(Log(token.probability), 0.0))};
  };
  std::vector<TokenProbability> best(drawn_from.begin(), drawn_from.end());
  std::erase_if(best, [](const TokenProbability& token) { return token.probability <= 0; });
  const auto picked = std::ranges::find(best, id, &TokenProbability::id);
  std::vector<TokenLogprob> result = {{id, -std::numeric_limits<float>::infinity()}};
  if (picked != best.end()) result[0] = logprob(*picked);
  const auto most = std::min(static_cast<std::size_t>(std::max(count, 0)), best.size());
  const auto end = best.begin() + static_cast<std::ptrdiff_t>(most);
  std::ranges::partial_sort(best, end, [](const TokenProbability& a, const TokenProbability& b) {
    return a.probability != b.probability ? a.probability > b.probability : a.id < b.id;
  });
  best.erase(end, best.end());
  for (const TokenProbability& token : best) result.push_back(logprob(token));
  return result;
}

}  // namespace bittern::runtime
