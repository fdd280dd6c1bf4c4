// SPDX-License-Identifier: Apache-2.0
// Possible faults of a model that loads, as rows of data: a cause, a cure, an edit. The probe
// decides.
#pragma once

#include <vector>

#include "doctor/facts/finding.hpp"

namespace bittern::doctor {

/// All hypotheses that fit the file, those of one factor side by side, the likely factors first.
/// `small`: also those that are tried layer by layer. `suspects`: the parts of which single
/// matrices may be something else than they should be.
[[nodiscard]] std::vector<Hypothesis> HypothesesFor(const formats::Checkpoint& checkpoint,
                                                    bool small, const std::vector<Part>& suspects);

/// Whether all norms may be one 16-bit type that was read as the other: then strange values can be
/// put right.
[[nodiscard]] bool NormsMayBeMisread(const formats::Checkpoint& checkpoint);

}  // namespace bittern::doctor
