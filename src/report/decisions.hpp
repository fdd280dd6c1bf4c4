// SPDX-License-Identifier: Apache-2.0
// Decisions as JSON.
#pragma once

#include <string>

#include "base/decision.hpp"
#include "base/json/json.hpp"

namespace bittern::report {

/// "REASON" or "REASON; HINT".
[[nodiscard]] std::string ReasonText(const Decision& decision);
/// [{"subject", "choice", "reason", "notable"}]
[[nodiscard]] Json DecisionsJson(const Decisions& decisions);

}  // namespace bittern::report
