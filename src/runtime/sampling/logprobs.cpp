// SPDX-License-Identifier: Apache-2.0
#include "runtime/sampling/logprobs.hpp"

#include <algorithm>

#include "base/portable_math.hpp"
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

}  // namespace bittern::runtime
