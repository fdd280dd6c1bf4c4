// SPDX-License-Identifier: Apache-2.0
// A file's report on a terminal.
#pragma once

#include <string>

#include "report/inspect/report.hpp"

namespace bittern::cli {

/// The report for people; `list_tensors` adds one line for each tensor, `colour` ANSI colours.
[[nodiscard]] std::string ReportText(const report::InspectReport& report, bool list_tensors,
                                     bool colour);

}  // namespace bittern::cli
