// SPDX-License-Identifier: Apache-2.0
// `bittern bench --html`: the results as one page that needs nothing else: no scripts, no fonts or
// pictures from elsewhere. It is well-formed XML too, so that tests can read it.
#pragma once

#include <string>
#include <vector>

#include "bench/report.hpp"

namespace bittern::bench {

[[nodiscard]] std::string BenchHtml(const BenchSubject& subject, const BenchExtras& extras,
                                    const std::vector<BenchResult>& results);

}  // namespace bittern::bench
