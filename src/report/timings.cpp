// SPDX-License-Identifier: Apache-2.0
// Rates of nothing are 0, not NaN: JSON has no NaN.
#include "report/timings.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/json/json.hpp"

namespace bittern::report {
namespace {

double Ratio(double a, double b) { return b > 0 ? a / b : 0; }

/// A line in the form of llama.cpp's timings, which scripts read.
std::string Line(std::string_view name, double seconds, int count, std::string_view unit) {
  return fmt::format(
      "{:>16} = {:10.2f} ms / {:5} {} ({:8.2f} ms per token, {:8.2f} tokens per second)\n", name,
      1e3 * seconds, count, unit, Ratio(1e3 * seconds, count), Ratio(count, seconds));
}

}  // namespace

std::string TimingsFooter(const runtime::Timings& timings, double load_s) {
  // The first new token comes from the prompt's logits, so one less was run.
  const int runs = std::max(timings.predicted_tokens - 1, 0);
  return fmt::format("{:>16} = {:10.2f} ms\n", "load time", 1e3 * load_s) +
         Line("prompt eval time", timings.prompt_s, timings.prompt_tokens, "tokens") +
         Line("eval time", timings.predicted_s, runs, "runs  ") +
         fmt::format("{:>16} = {:10.2f} ms / {:5} tokens\n", "total time",
                     1e3 * (timings.prompt_s + timings.predicted_s),
                     timings.prompt_tokens + timings.predicted_tokens);
}

std::string SpeculationLine(const runtime::Timings& timings) {
  return fmt::format("{:>16} = {} tokens drafted, {} accepted ({:.1f} %)\n", "speculation",
                     timings.drafted_tokens, timings.accepted_tokens,
                     100 * Ratio(timings.accepted_tokens, timings.drafted_tokens));
}

/// The members are named as in llama-server's "timings".
Json TimingsJson(const runtime::Timings& timings) {
  const double prompt_ms = 1e3 * timings.prompt_s, predicted_ms = 1e3 * timings.predicted_s;
  return {{"prompt_n", timings.prompt_tokens},
          {"prompt_ms", prompt_ms},
          {"prompt_per_token_ms", Ratio(prompt_ms, timings.prompt_tokens)},
          {"prompt_per_second", Ratio(timings.prompt_tokens, timings.prompt_s)},
          {"predicted_n", timings.predicted_tokens},
          {"predicted_ms", predicted_ms},
          {"predicted_per_token_ms", Ratio(predicted_ms, timings.predicted_tokens)},
          {"predicted_per_second", Ratio(timings.predicted_tokens, timings.predicted_s)},
          {"draft_n", timings.drafted_tokens},
          {"draft_n_accepted", timings.accepted_tokens},
          {"forced_n", timings.forced_tokens}};
}

}  // namespace bittern::report
