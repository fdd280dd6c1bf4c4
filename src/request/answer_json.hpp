// SPDX-License-Identifier: Apache-2.0
// Answers as JSON: what the server's APIs, batch files and the library share. Any thread.
#pragma once

#include <optional>
#include <span>

#include "base/json/json.hpp"
#include "request/text_request.hpp"
#include "runtime/engine/engine.hpp"

namespace bittern::request {

/// OpenAI's list of tokens with their log-probabilities (natural logarithms) and the best ones
/// beside each: [{"id", "token", "bytes", "logprob", "top_logprobs": [...]}]. JSON has no infinity:
/// -9999 stands for what cannot be.
[[nodiscard]] Json LogprobsJson(std::span<const runtime::TokenLogprobs> tokens,
                                const tokenizer::Tokenizer& tokenizer);

/// llama-server's list of the same tokens with the probabilities of their draws
/// (TokenLogprobs::draw):
/// [{"id", "token", "bytes", "prob", "top_probs": [...]}].
[[nodiscard]] Json ProbabilitiesJson(std::span<const runtime::TokenLogprobs> tokens,
                                     const tokenizer::Tokenizer& tokenizer);

/// llama-server's "timings" of a sequence so far, in milliseconds and tokens a second.
[[nodiscard]] Json TimingsJson(const runtime::SequenceTimings& so_far);

/// The arguments of a call; nothing where it was cut.
[[nodiscard]] std::optional<Json> CallArguments(const FoundCall& call);

/// Calls in OpenAI's form: [{"id", "type", "function": {"name", "arguments"}}]. `number`: of the
/// answer, which ids are named after.
[[nodiscard]] Json ToolCallsJson(std::span<const FoundCall> calls, std::size_t number);

/// The answers of all sequences of a request, as batch files and the library give them: {"ids",
/// "text", "finish_reason", "prompt_tokens", "seed"} of the first one, with "logprobs" ({"content":
/// LogprobsJson}) and "tool_calls" ([{"id", "type", "function": {"name", "arguments"}}]) where they
/// were asked for, and its receipt where `receipts` (JSON texts) has one for each result. With
/// several sequences "choices" lists all. The same for the same results.
[[nodiscard]] Json AnswerJson(const TextRequest& request,
                              std::span<const runtime::GenerateResult> results,
                              const tokenizer::Tokenizer& tokenizer,
                              std::span<const std::string> receipts = {});

}  // namespace bittern::request
