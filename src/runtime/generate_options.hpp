// SPDX-License-Identifier: Apache-2.0
// The options of a generation and its result: shared by Session (one sequence) and Engine (many).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/constraint.hpp"
#include "runtime/sampling/logprobs.hpp"
#include "runtime/sampling/options.hpp"
#include "runtime/speculation.hpp"

namespace bittern::runtime {

enum class FinishReason { kLength, kEndOfText, kStopString, kContextFull, kCancelled, kLoop };
[[nodiscard]] std::string_view FinishReasonName(FinishReason reason) noexcept;

struct GenerateOptions {
  int max_tokens = -1;  ///< < 0: until the end or a full context
  SamplerOptions sampler = {};
  std::vector<std::string> stops = {};
  bool ignore_eos = false;
  /// The form of the text; it ends where nothing may follow. Refused before the first token where
  /// it cannot be obeyed.
  std::optional<grammar::Constraint> constraint = {};
  bool render_special = false;
  bool stop_on_loop = false;  ///< end a text that repeats itself (sampling/loop_detector.hpp)
  /// 0 or more: give the log-probability of each token, and of this many best ones beside it.
  int logprobs = -1;
  bool logprobs_of_draw = false;                  ///< with logprobs: give the draw's, too
  Speculation speculation = Speculation::kNgram;  ///< changes the time, never a token
  const std::atomic<bool>* cancel = nullptr;  ///< checked once a token, and once a layer of prompts
  /// Receives the share of a long prompt that is read, 0 to 1; by any thread, one at a time.
  std::function<void(double)> on_prompt = {};
  /// Receives each token, before on_text receives its text. The second is null without `logprobs`.
  std::function<void(tokenizer::TokenId, const TokenLogprobs*)> on_token = {};
};

struct GenerateResult {
  std::vector<TokenId> ids;  ///< without the end token
  std::string text;          ///< exactly what on_text was given
  FinishReason finish = FinishReason::kLength;
  bool cut =
      false;  ///< the constraint asks for more: the text is only the beginning of a whole one
  std::string stopping_word = {};  ///< the stop string that ended the text
  std::uint32_t seed = 0;
  int drafted = 0, accepted = 0;  ///< tokens guessed and run before they were sampled; of those,
                                  ///< sampled afterwards
  int forced = 0;  ///< tokens that the constraint left no choice about, so that none was asked for
  std::vector<TokenLogprobs> logprobs = {};  ///< of each id, where they were asked for
  int sampled = 0;  ///< tokens, with the one that ended the text if there is one
};

}  // namespace bittern::runtime
