// SPDX-License-Identifier: Apache-2.0
// A diagnosis as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "doctor/diagnose.hpp"

namespace bittern::cli {

/// All of `doctor --json` but the path and what --fix did.
[[nodiscard]] nlohmann::ordered_json DiagnosisJson(const doctor::Diagnosis& diagnosis);

}  // namespace bittern::cli
