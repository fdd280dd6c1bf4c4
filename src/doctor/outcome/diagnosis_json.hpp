// SPDX-License-Identifier: Apache-2.0
// A diagnosis and an examination as JSON.
#pragma once

#include "base/json/json.hpp"
#include "doctor/outcome/examine.hpp"

namespace bittern::doctor {

/// {"verdict", "summary", "findings": [{"id", "cause", "evidence", "cure", "curable"}],
/// "undecided", "nats_before", "nats_expected", "nats_after", "nats_of_knowing_nothing", "trials",
/// "seconds"}; the four of nats only where they are known.
[[nodiscard]] Json DiagnosisJson(const Diagnosis& diagnosis);

/// {"path"}, the members of DiagnosisJson, and "like" and "fixed" where these were asked for.
[[nodiscard]] Json OutcomeJson(const Outcome& found);

/// OutcomeJson for the page (report/page), with "advice" and "scales": [{"layer", "kinds": {KIND:
/// {"scale", "zeros"}}}] of the ternary tensors of `file`, where it opens; "zeros", a share, where
/// its format tells it cheaply. `advice`: how to get a mended file.
[[nodiscard]] Json PageJson(const Outcome& found, const formats::Checkpoint* file,
                            const std::string& advice);

}  // namespace bittern::doctor
