// SPDX-License-Identifier: Apache-2.0
// A text that was continued and a chat's reply, as JSON. Pure; any thread.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/json/json.hpp"
#include "report/savings.hpp"
#include "runtime/session.hpp"

namespace bittern::report {

/// A run as it is shown at its end.
struct RunReport {
  std::shared_ptr<const runtime::LoadedModel> model;
  std::vector<runtime::TokenId> prompt_ids = {};
  runtime::GenerateResult result = {};
  runtime::Timings timings = {};
  Savings savings = {};
  int threads = 0;
  double threads_used = 0;  ///< on average
  bool with_logprobs = false;
};

/// {"model", "prompt_ids", "ids", "text", "finish_reason", "seed", "timings", "savings", "threads",
/// "decisions"}, and "logprobs" where they were asked for. `decisions`: the model's, worded. A path
/// need not be UTF-8; Dump mends it.
[[nodiscard]] Json RunJson(const RunReport& run, const Decisions& decisions);

/// {"user", "text", "ids", "finish_reason", "seed", "n_past", "draft_n", "draft_n_accepted",
/// "forced_n"}, and "logprobs" where they were asked for.
[[nodiscard]] Json ReplyJson(std::string_view user, const runtime::GenerateResult& reply,
                             bool with_logprobs, const runtime::Session& session);

}  // namespace bittern::report
