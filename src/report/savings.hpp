// SPDX-License-Identifier: Apache-2.0
// The work that a session was spared, for people (-v) and programs (--json).
#pragma once

#include <string>

#include "base/json/json.hpp"
#include "model/skip_stats.hpp"
#include "runtime/session.hpp"
#include "runtime/tracers/zero_counter.hpp"

namespace bittern::report {

struct Savings {
  model::SkipStats zeros;     ///< rows, columns and experts of the feed-forward part
  model::ScreenStats screen;  ///< rows of the output head
};

[[nodiscard]] Savings SavingsOf(const runtime::Session& session);

/// A line for each that was at work; empty for none.
[[nodiscard]] std::string SavingsLines(const Savings& savings);

/// `zeros`, `experts` (numbers, over all layers and passes) and `screen`, each null where it was
/// not at work: what was read of them.
[[nodiscard]] Json SavingsJson(const Savings& savings);

/// How much of every layer's feed-forward part was zero: {"layers": [{"gates", "zero_gates",
/// "down_proj_inputs", "zero_down_proj_inputs"}]}.
[[nodiscard]] Json ZerosJson(const runtime::ZeroCounter& zeros);

}  // namespace bittern::report
