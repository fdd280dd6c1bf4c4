// SPDX-License-Identifier: Apache-2.0
// Steps that drop candidates by the shape of the whole distribution. They expect at least one
// candidate and leave at least one. Sums run in list order.
#pragma once

#include <cstddef>

#include "runtime/sampling/sampler_steps.hpp"

namespace bittern::runtime {

/// Keeps logits that are at most n standard deviations (of all candidates) below the best; n > 0
/// (Tang et al., "Top-n-sigma", arXiv:2411.07641). The order stays.
void KeepTopNSigma(double n, Candidates* candidates);

/// Keeps the fewest candidates whose surprise is nearest to the entropy and whose probability
/// exceeds p together, at least `min_keep` of them, in that order, equals by id; p < 1 (Meister et
/// al., "Locally typical sampling", arXiv:2202.00666).
void KeepTypical(double p, std::size_t min_keep, Candidates* candidates);

/// Drops all candidates of probability `threshold` or more but the least of them, where at least
/// `min_keep` stay ("Exclude top choices", p-e-w, 2024). Sorts.
void ExcludeTopChoices(double threshold, std::size_t min_keep, Candidates* candidates);

}  // namespace bittern::runtime
