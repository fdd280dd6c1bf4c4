// SPDX-License-Identifier: Apache-2.0
// A self-test as text and as JSON.
#pragma once

#include <string>

#include "base/json/json.hpp"
#include "proof/selftest/selftest.hpp"

namespace bittern::proof {

/// "Nothing is wrong (3.1 s).", and what was skipped. That nothing is wrong is said only where
/// everything was looked at.
[[nodiscard]] std::string SummaryLine(const SelftestReport& report);

/// A line for each check under its group, then SummaryLine; `colour` adds ANSI colours.
[[nodiscard]] std::string SelftestText(const SelftestReport& report, bool colour);

/// {"ok", "complete", "tests": [{"group", "name", "state", "detail", "missed", "seconds"}],
/// "seconds"}
[[nodiscard]] Json SelftestJson(const SelftestReport& report);

}  // namespace bittern::proof
