// SPDX-License-Identifier: Apache-2.0
// The extras of `bittern bench` as text and as JSON: --explain, --matrix, --cost.
#pragma once

#include <string>
#include <vector>

#include "base/json/json.hpp"
#include "bench/report.hpp"

namespace bittern::bench {

/// The text behind the table: a paragraph for each extra that was asked for, each after an empty
/// line.
[[nodiscard]] std::string ExtrasText(const BenchSubject& subject, const BenchExtras& extras,
                                     const std::vector<BenchResult>& results);

/// Adds the fields of the last of `results`: `explain`, `scaling`, `price_per_million_tokens`,
/// `joules_per_token` (docs/cli.md).
void AddExtras(const BenchSubject& subject, const BenchExtras& extras,
               const std::vector<BenchResult>& results, Json* row);

}  // namespace bittern::bench
