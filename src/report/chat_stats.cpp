// SPDX-License-Identifier: Apache-2.0
#include "report/chat_stats.hpp"

#include <fmt/format.h>

namespace bittern::report {

/// The answer to /stats. Tokens "kept" were in the cache from the turn before and were not read
/// again.
std::string ChatStatsText(const runtime::Chat& chat, const ChatTotals& totals) {
  std::string text;
  const runtime::TurnCost& cost = chat.last_cost();
  const auto rate = [](int tokens, double seconds) {
    return seconds <= 0 ? std::string("-") : fmt::format("{:.1f}", tokens / seconds);
  };
  text += fmt::format(
      "last turn: {} tokens kept from before, {} read ({} tokens/s), {} written ({} tokens/s)\n",
      cost.kept_tokens, cost.read_tokens, rate(cost.read_tokens, cost.read_s), cost.written_tokens,
      rate(cost.written_tokens, cost.written_s));
  const runtime::Timings& all = chat.session().timings();
  text += fmt::format("all turns: {} kept, {} read ({} tokens/s), {} written ({} tokens/s)\n",
                      totals.kept, totals.read, rate(all.prompt_tokens, all.prompt_s),
                      totals.written, rate(all.predicted_tokens, all.predicted_s));
  if (all.drafted_tokens > 0) {
    text += fmt::format("guessed: {} tokens, {} of them right\n", all.drafted_tokens,
                        all.accepted_tokens);
  }
  if (all.forced_tokens > 0) {
    text += fmt::format("forced: {} tokens that the schema or grammar left no choice about\n",
                        all.forced_tokens);
  }
  text += fmt::format("context: {} of {} tokens, {} turns, {} forgotten\n",
                      chat.session().tokens().size(), chat.session().context_length(),
                      chat.turns().size(), chat.dropped_turns());
  if (!chat.turns().empty()) {
    const runtime::GenerateResult& reply = chat.turns().back().reply;
    text += fmt::format("last reply: seed {}, ended by {}\n", reply.seed,
                        runtime::FinishReasonName(reply.finish));
  }
  text += fmt::format("threads: {}\n", chat.session().num_threads());
  return text;
}

}  // namespace bittern::report
