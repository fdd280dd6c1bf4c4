// SPDX-License-Identifier: Apache-2.0
// A diagnosis as JSON.
#pragma once

#include "base/json/json.hpp"
#include "doctor/diagnose.hpp"

namespace bittern::cli {

/// All of `doctor --json` but the path and what --fix did.
[[nodiscard]] Json DiagnosisJson(const doctor::Diagnosis& diagnosis);

}  // namespace bittern::cli
