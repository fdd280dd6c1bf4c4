// SPDX-License-Identifier: Apache-2.0
#include "runtime/sampling/probabilities.hpp"

#include <limits>

#include "base/portable_math.hpp"

namespace bittern::runtime {

std::vector<double> Softmax(const Candidates& candidates, double temperature) {
  const double best = static_cast<double>(Best(candidates).logit);
  std::vector<double> probabilities;
  probabilities.reserve(candidates.size());
  double total = 0;
  for (const Candidate& candidate : candidates) {
    probabilities.push_back(Exp((static_cast<double>(candidate.logit) - best) / temperature));
    total += probabilities.back();
  }
  for (double& p : probabilities) p /= total;
  return probabilities;
}

double LogOf(double p) noexcept {
  constexpr double kLeast = std::numeric_limits<double>::min();
  return p < kLeast ? -1e4 : Log(p);
}

double EntropyOf(std::span<const double> probabilities) noexcept {
  double entropy = 0;
  for (const double p : probabilities) entropy -= p > 0 ? p * LogOf(p) : 0;
  return entropy;
}

}  // namespace bittern::runtime
