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

}  // namespace bittern::doctor
