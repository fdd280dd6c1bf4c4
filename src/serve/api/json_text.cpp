// SPDX-License-Identifier: Apache-2.0
#include "serve/api/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/system_random.hpp"
#include "base/utf8.hpp"

namespace bittern::serve {

std::string Dump(const Json& json) { return json.Dump(); }

std::string Event(const Json& json) { return "data: " + Dump(json) + "\n\n"; }

std::string_view OpenAiFinish(runtime::FinishReason reason) noexcept {
  switch (reason) {
    case runtime::FinishReason::kLength:
    case runtime::FinishReason::kContextFull:
      return "length";
    default:
      return "stop";
  }
}

Json TimingsJson(const runtime::SequenceTimings& timings) {
  const int read = std::max(0, timings.read_tokens - timings.cached_tokens);
  const int predicted = timings.sampled_tokens;
  const int later = std::max(0, predicted - 1);  // the first one comes with the prompt
  const double prompt_ms = 1e3 * timings.prompt_s, predicted_ms = 1e3 * timings.predicted_s;
  const auto rate = [](int count, double ms) { return ms > 0 ? 1e3 * count / ms : 0.0; };
  const auto each = [](int count, double ms) { return count > 0 ? ms / count : 0.0; };
  return {{"cache_n", timings.cached_tokens},
          {"prompt_n", read},
          {"prompt_ms", prompt_ms},
          {"prompt_per_token_ms", each(read, prompt_ms)},
          {"prompt_per_second", rate(read, prompt_ms)},
          {"predicted_n", predicted},
          {"predicted_ms", predicted_ms},
          {"predicted_per_token_ms", each(later, predicted_ms)},
          {"predicted_per_second", rate(later, predicted_ms)},
          {"queued_ms", 1e3 * timings.queued_s}};
}

Json TimingsJson(const Outcome& outcome) {
  Json json = TimingsJson(outcome.timings);
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

Json LogprobsJson(const TokenList& tokens, const tokenizer::Tokenizer& tokenizer) {
  const auto entry = [&](const runtime::TokenLogprob& token) -> Json {
    const std::string_view bytes = tokenizer.TokenBytes(token.id, true);
    Json numbers = Json::MakeArray();
    for (const char c : bytes) numbers.push_back(static_cast<unsigned char>(c));
    return {{"id", token.id},
            {"token", ReplaceInvalidUtf8(bytes)},
            {"bytes", std::move(numbers)},
            {"logprob", token.logprob}};
  };
  Json list = Json::MakeArray();
  for (const runtime::TokenLogprobs& token : tokens) {
    Json one = entry(token.picked);
    one["top_logprobs"] = Json::MakeArray();
    for (const runtime::TokenLogprob& top : token.top) one["top_logprobs"].push_back(entry(top));
    list.push_back(std::move(one));
  }
  return list;
}

Json ReceiptJson(const Outcome& outcome) {
  return Json::Parse(outcome.receipt, {}).value_or(Json());
}

std::optional<Json> CallArguments(const FoundCall& call) {
  auto arguments = Json::Parse(call.arguments, {.max_depth = 100});
  return arguments ? std::optional(*std::move(arguments)) : std::nullopt;
}

std::string NewId(std::string_view prefix) {
  static std::atomic<std::uint32_t> next{0};
  return fmt::format("{}{:08x}{:08x}{:08x}", prefix, SystemRandom(), SystemRandom(), next++);
}

}  // namespace bittern::serve
