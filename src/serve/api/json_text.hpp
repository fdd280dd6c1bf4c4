// SPDX-License-Identifier: Apache-2.0
// Parts of answers that several APIs share. Any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/json/json.hpp"
#include "serve/core/call.hpp"
#include "serve/core/tool_stream.hpp"

namespace bittern::serve {

/// One line, always UTF-8.
[[nodiscard]] std::string Dump(const Json& json);
/// "data: ...\n\n"
[[nodiscard]] std::string Event(const Json& json);

/// "stop" or "length", as OpenAI tells the end.
[[nodiscard]] std::string_view OpenAiFinish(runtime::FinishReason reason) noexcept;

/// llama-server's "timings" of a sequence that runs.
[[nodiscard]] Json TimingsJson(const runtime::SequenceTimings& so_far);
/// And of one that has ended.
[[nodiscard]] Json TimingsJson(const Outcome& outcome);

/// OpenAI's "usage" of all sequences together; a prompt counts once for all of its choices.
[[nodiscard]] Json UsageJson(std::span<const Outcome> outcomes, std::size_t choices);

/// OpenAI's list of tokens with their log-probabilities and the best ones beside them.
[[nodiscard]] Json LogprobsJson(const TokenList& tokens, const tokenizer::Tokenizer& tokenizer);

/// The receipt of an outcome as JSON; null where there is none.
[[nodiscard]] Json ReceiptJson(const Outcome& outcome);

/// The arguments of a call; nothing where it was cut.
[[nodiscard]] std::optional<Json> CallArguments(const FoundCall& call);

/// A name that has not been used: "chatcmpl-" and 24 hexadecimal digits.
[[nodiscard]] std::string NewId(std::string_view prefix);

}  // namespace bittern::serve
