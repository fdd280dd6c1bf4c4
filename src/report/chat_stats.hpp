// SPDX-License-Identifier: Apache-2.0
// The costs of the turns of a conversation, as lines of text.
#pragma once

#include <string>

#include "runtime/chat/chat.hpp"

namespace bittern::report {

/// Tokens of all turns that were answered, those that were forgotten too.
struct ChatTotals {
  int kept = 0;     ///< from the turns before
  int read = 0;     ///< anew
  int written = 0;  ///< of replies

  void Add(const runtime::TurnCost& cost) noexcept {
    kept += cost.kept_tokens;
    read += cost.read_tokens;
    written += cost.written_tokens;
  }
};

/// The last turn, all turns, guesses, the context, the last reply's seed and end, threads.
[[nodiscard]] std::string ChatStatsText(const runtime::Chat& chat, const ChatTotals& totals);

}  // namespace bittern::report
