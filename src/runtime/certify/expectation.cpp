// SPDX-License-Identifier: Apache-2.0
#include "runtime/certify/expectation.hpp"

#include <algorithm>

namespace bittern::runtime {
namespace {

/// The one to compare with: of this model and code, else of this model, else the first.
const Certificate& Closest(std::span<const Certificate> expected, const Certificate& found) {
  const Certificate* best = &expected.front();
  int most = 0;
  for (const Certificate& candidate : expected) {
    const int fit = (candidate.model == found.model ? 2 : 0) + (candidate.code == found.code);
    if (fit > most) best = &candidate;
    most = std::max(most, fit);
  }
  return *best;
}

}  // namespace

Expectation CompareWithExpected(std::span<const Certificate> expected, const Certificate& found) {
  const Certificate& closest = Closest(expected, found);
  Expectation result{.closest = &closest, .differences = CompareCertificates(closest, found)};
  result.is_other_model =
      !result.differences.empty() && expected.size() > 1 && closest.model != found.model;
  return result;
}

}  // namespace bittern::runtime
