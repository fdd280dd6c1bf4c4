// SPDX-License-Identifier: Apache-2.0
#include "proof/certificate/expectation.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace bittern::proof {
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

std::vector<std::string> ExpectationSentences(const Expectation& expectation,
                                              const Certificate& found, std::size_t count,
                                              std::string_view name) {
  if (expectation.is_other_model) {
    return {fmt::format("none of the {} certificates in {} belongs to this model", count, name)};
  }
  if (!expectation.differences.empty()) return expectation.differences;
  const std::string& version = expectation.closest->version;
  if (version == found.version) return {"the same"};
  return {fmt::format("the same (expected by version {})", version)};
}

}  // namespace bittern::proof
