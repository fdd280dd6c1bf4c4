// SPDX-License-Identifier: Apache-2.0
#include "runtime/sampling/truncation.hpp"

#include <algorithm>
#include <cmath>

#include "base/portable_math.hpp"
#include "runtime/sampling/probabilities.hpp"

namespace bittern::runtime {

void KeepTopNSigma(double n, Candidates* candidates) {
  double sum = 0;
  for (const Candidate& candidate : *candidates) sum += static_cast<double>(candidate.logit);
  const auto size = static_cast<double>(candidates->size());
  const double mean = sum / size;
  double squares = 0;
  for (const Candidate& candidate : *candidates) {
    const double off = static_cast<double>(candidate.logit) - mean;
    squares += off * off;
  }
  // A square root is exact to the last bit on every machine.
  const double least = static_cast<double>(Best(*candidates).logit) - n * std::sqrt(squares / size);
  std::erase_if(*candidates, [&](const Candidate& candidate) {
    return static_cast<double>(candidate.logit) < least;
  });
}

void KeepTypical(double p, std::size_t min_keep, Candidates* candidates) {
  const std::vector<double> probabilities = Softmax(*candidates);
  const double entropy = EntropyOf(probabilities);
  struct Typical {
    double off, probability;
    Candidate candidate;
  };
  std::vector<Typical> order;
  order.reserve(candidates->size());
  for (std::size_t i = 0; i < candidates->size(); ++i) {
    const double surprise = -LogOf(probabilities[i]);
    order.push_back({std::fabs(surprise - entropy), probabilities[i], (*candidates)[i]});
  }
  std::ranges::sort(order, [](const Typical& a, const Typical& b) {
    return a.off != b.off ? a.off < b.off : a.candidate.id < b.candidate.id;
  });
  candidates->clear();
  double sum = 0;
  for (const Typical& entry : order) {
    candidates->push_back(entry.candidate);
    sum += entry.probability;
    if (sum > p && candidates->size() >= min_keep) return;
  }
}

void ExcludeTopChoices(double threshold, std::size_t min_keep, Candidates* candidates) {
  SortBest(candidates->size(), candidates);
  const std::vector<double> probabilities = Softmax(*candidates);
  const auto below = std::ranges::find_if(probabilities, [&](double p) { return p < threshold; });
  const auto high = static_cast<std::size_t>(below - probabilities.begin());
  if (high < 2 || candidates->size() - (high - 1) < min_keep) return;
  candidates->erase(candidates->begin(),
                    candidates->begin() + static_cast<std::ptrdiff_t>(high - 1));
}

}  // namespace bittern::runtime
