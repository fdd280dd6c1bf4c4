// SPDX-License-Identifier: Apache-2.0
// How long reading and writing took, in the two shapes that llama.cpp's users know.
#pragma once

#include <string>

#include "base/json/json.hpp"
#include "runtime/session.hpp"

namespace bittern::report {

/// The footer of llama.cpp's command line: load, prompt eval, eval and total time.
[[nodiscard]] std::string TimingsFooter(const runtime::Timings& timings, double load_s);

/// How many tokens were guessed, and how many of these came true.
[[nodiscard]] std::string SpeculationLine(const runtime::Timings& timings);

/// The `timings` object of llama.cpp's server: prompt_n, prompt_ms, ..., predicted_per_second,
/// draft_n, draft_n_accepted; and forced_n.
[[nodiscard]] Json TimingsJson(const runtime::Timings& timings);

}  // namespace bittern::report
