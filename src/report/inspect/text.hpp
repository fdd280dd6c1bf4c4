// SPDX-License-Identifier: Apache-2.0
// A model file's report as text: sections of aligned columns.
#pragma once

#include <string>

#include "report/inspect/report.hpp"

namespace bittern::report {

/// The report for people; `list_tensors` adds one line for each tensor, `colour` ANSI colours.
[[nodiscard]] std::string InspectText(const InspectReport& report, bool list_tensors, bool colour);

}  // namespace bittern::report
