// SPDX-License-Identifier: Apache-2.0
// A trace as a table, a comparison of two as JSON.
#pragma once

#include <string>

#include "proof/trace/compare.hpp"
#include "proof/trace/trace.hpp"

namespace bittern::proof {

/// A line for each operation, at the last position.
[[nodiscard]] std::string TraceText(const Trace& trace);

/// {"verdict", "summary", "compared", "furthest"}, and "layer", "operation", "position" of the
/// first difference. "furthest" is the largest difference. Ends with a line break.
[[nodiscard]] std::string ComparisonJson(const TraceComparison& found);

}  // namespace bittern::proof
