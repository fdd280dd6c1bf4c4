// SPDX-License-Identifier: Apache-2.0
// A trace as a table, a comparison of two as JSON.
#pragma once

#include <string>

#include "trace/compare.hpp"
#include "trace/trace.hpp"

namespace bittern::trace {

/// A line for each operation, at the last position.
[[nodiscard]] std::string TraceText(const Trace& trace);

/// {"verdict", "summary", "compared", "furthest"}, and "layer", "operation", "position" of the
/// first difference. "furthest" is the largest difference. Ends with a line break.
[[nodiscard]] std::string ComparisonJson(const Comparison& found);

}  // namespace bittern::trace
