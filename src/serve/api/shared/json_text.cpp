// SPDX-License-Identifier: Apache-2.0
#include "serve/api/shared/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/os/process.hpp"

namespace bittern::serve {

std::string Event(const Json& json) { return "data: " + json.Dump() + "\n\n"; }

std::string_view OpenAiFinish(runtime::FinishReason reason) noexcept {
  switch (reason) {
    case runtime::FinishReason::kLength:
    case runtime::FinishReason::kContextFull:
      return "length";
    default:
      return "stop";
  }
}

/// Adds counters that are there only if something was drafted, or forced by a constraint.
Json TimingsJson(const Outcome& outcome) {
  Json json = request::TimingsJson(outcome.timings);
  if (outcome.result.drafted > 0) {
    json["draft_n"] = outcome.result.drafted;
    json["draft_n_accepted"] = outcome.result.accepted;
  }
  if (outcome.result.forced > 0) json["forced_n"] = outcome.result.forced;
  return json;
}

Json UsageJson(std::span<const Outcome> outcomes, std::size_t choices) {
  int prompt = 0, cached = 0, predicted = 0;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    predicted += outcomes[i].predicted();
    if (i % choices != 0) continue;
    prompt += outcomes[i].timings.prompt_tokens;
    cached += outcomes[i].timings.cached_tokens;
  }
  return {{"completion_tokens", predicted},
          {"prompt_tokens", prompt},
          {"total_tokens", prompt + predicted},
          {"prompt_tokens_details", {{"cached_tokens", cached}}}};
}

Json ReceiptJson(const Outcome& outcome) {
  return Json::Parse(outcome.receipt, {}).value_or(Json());
}

/// The counter makes names different within a process, the random digits between processes.
std::string NewId(std::string_view prefix) {
  static std::atomic<std::uint32_t> next{0};
  return fmt::format("{}{:08x}{:08x}{:08x}", prefix, os::Random(), os::Random(), next++);
}

}  // namespace bittern::serve
