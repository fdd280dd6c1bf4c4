// SPDX-License-Identifier: Apache-2.0
// Parts of answers that several APIs share. Any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/json/json.hpp"
#include "request/answer_json.hpp"
#include "serve/core/call.hpp"

namespace bittern::serve {

using request::CallArguments;
using request::LogprobsJson;
using request::TimingsJson;

/// One line of JSON.
[[nodiscard]] inline std::string Dump(const Json& json) { return json.Dump(); }
/// "data: ...\n\n"
[[nodiscard]] std::string Event(const Json& json);

/// "stop" or "length", as OpenAI tells the end.
[[nodiscard]] std::string_view OpenAiFinish(runtime::FinishReason reason) noexcept;

/// llama-server's "timings" of a sequence that has ended.
[[nodiscard]] Json TimingsJson(const Outcome& outcome);

/// OpenAI's "usage" of all sequences together; a prompt counts once for all of its choices.
[[nodiscard]] Json UsageJson(std::span<const Outcome> outcomes, std::size_t choices);

/// The receipt of an outcome as JSON; null where there is none.
[[nodiscard]] Json ReceiptJson(const Outcome& outcome);

/// A name that has not been used: "chatcmpl-" and 24 hexadecimal digits.
[[nodiscard]] std::string NewId(std::string_view prefix);

}  // namespace bittern::serve
