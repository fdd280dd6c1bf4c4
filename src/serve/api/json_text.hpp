// SPDX-License-Identifier: Apache-2.0
// Parts of answers that several APIs share. Any thread.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "serve/core/call.hpp"

namespace bittern::serve {

using OrderedJson = nlohmann::ordered_json;

/// One line, always UTF-8.
[[nodiscard]] std::string Dump(const OrderedJson& json);
/// "data: ...\n\n"
[[nodiscard]] std::string Event(const OrderedJson& json);

/// "stop" or "length", as OpenAI tells the end.
[[nodiscard]] std::string_view OpenAiFinish(runtime::FinishReason reason) noexcept;

/// llama-server's "timings" of a sequence that runs.
[[nodiscard]] OrderedJson TimingsJson(const runtime::SequenceTimings& so_far);
/// And of one that has ended.
[[nodiscard]] OrderedJson TimingsJson(const Outcome& outcome);

/// OpenAI's "usage" of all sequences together; a prompt counts once for all of its choices.
[[nodiscard]] OrderedJson UsageJson(std::span<const Outcome> outcomes, std::size_t choices);

/// OpenAI's list of tokens with their log-probabilities and the best ones beside them.
[[nodiscard]] OrderedJson LogprobsJson(const TokenList& tokens,
                                       const tokenizer::Tokenizer& tokenizer);

/// The receipt of an outcome as JSON; null where there is none.
[[nodiscard]] OrderedJson ReceiptJson(const Outcome& outcome);

/// A name that has not been used: "chatcmpl-" and 24 hexadecimal digits.
[[nodiscard]] std::string NewId(std::string_view prefix);

}  // namespace bittern::serve
