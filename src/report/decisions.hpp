// SPDX-License-Identifier: Apache-2.0
// Decisions as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/decision.hpp"

namespace bittern::report {

/// "REASON" or "REASON; HINT".
[[nodiscard]] std::string ReasonText(const Decision& decision);
/// [{"subject", "choice", "reason", "notable"}]
[[nodiscard]] nlohmann::ordered_json DecisionsJson(const Decisions& decisions);

}  // namespace bittern::report
