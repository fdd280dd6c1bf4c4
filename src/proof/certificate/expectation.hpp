// SPDX-License-Identifier: Apache-2.0
// A certificate beside those that were expected. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proof/certificate/certificate.hpp"

namespace bittern::proof {

/// How a certificate compares with the closest one of those expected.
struct Expectation {
  const Certificate* closest = nullptr;  ///< one of `expected`
  std::vector<std::string> differences;  ///< sentences; empty: the same
  bool is_other_model = false;           ///< several were expected, and none of this model
};

/// The closest one is of this model and code, else of this model, else the first. REQUIRES:
/// `expected` is not empty and outlives the result.
[[nodiscard]] Expectation CompareWithExpected(std::span<const Certificate> expected,
                                              const Certificate& found);

/// The outcome of the comparison, a sentence each: "the same", that none of the `count`
/// certificates in `name` is of this model, or the differences.
[[nodiscard]] std::vector<std::string> ExpectationSentences(const Expectation& expectation,
                                                            const Certificate& found,
                                                            std::size_t count,
                                                            std::string_view name);

}  // namespace bittern::proof
