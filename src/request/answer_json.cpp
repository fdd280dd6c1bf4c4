// SPDX-License-Identifier: Apache-2.0
// The whole answers of batch files and the library are made here; the server's APIs use the parts.
#include "request/answer_json.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/portable_math.hpp"
#include "base/utf8.hpp"

namespace bittern::request {
namespace {

/// Takes the place of minus infinity, as in OpenAI's answers.
constexpr float kLeastLogprob = -9999;

/// A token without a number. "bytes" are there because a token may be a part of a character, which
/// "token" cannot show.
Json TokenJson(const runtime::TokenLogprob& token, const tokenizer::Tokenizer& tokenizer) {
  const std::string_view bytes = tokenizer.TokenBytes(token.id, /*render_special=*/true);
  Json numbers = Json::MakeArray();
  for (const char c : bytes) numbers.push_back(static_cast<unsigned char>(c));
  return {{"id", token.id}, {"token", bytes}, {"bytes", std::move(numbers)}};
}

Json LogprobJson(const runtime::TokenLogprob& token, const tokenizer::Tokenizer& tokenizer) {
  Json json = TokenJson(token, tokenizer);
  json["logprob"] = std::max(token.logprob, kLeastLogprob);
  return json;
}

Json ProbabilityJson(const runtime::TokenLogprob& token, const tokenizer::Tokenizer& tokenizer) {
  Json json = TokenJson(token, tokenizer);
  json["prob"] = Exp(static_cast<double>(token.logprob));
  return json;
}

/// A list of numbers of tokens; `one` writes a token.
Json ListOf(std::span<const runtime::TokenLogprob> tokens, const tokenizer::Tokenizer& tokenizer,
            decltype(LogprobJson)* one) {
  Json list = Json::MakeArray();
  for (const runtime::TokenLogprob& token : tokens) list.push_back(one(token, tokenizer));
  return list;
}

/// `number`: of the sequence; calls are named after it, so that the same request gives the same
/// bytes.
Json SequenceJson(const TextRequest& request, std::size_t number,
                  const runtime::GenerateResult& result, const tokenizer::Tokenizer& tokenizer) {
  const std::size_t prompt = number / static_cast<std::size_t>(request.choices);
  Json json = {{"ids", result.ids},
               {"text", result.text},
               {"finish_reason", runtime::FinishReasonName(result.finish)},
               {"prompt_tokens", request.prompts[prompt].size()},
               {"seed", result.seed}};
  if (request.options.logprobs >= 0) {
    json["logprobs"]["content"] = LogprobsJson(result.logprobs, tokenizer);
  }
  if (request.echo) {
    json["text"] = tokenizer.Decode(request.prompts[prompt], false) + result.text;
  }
  if (request.tools.form == nullptr) return json;
  const ToolAnswerParts parts = ReadToolAnswer(request.tools, result.text);
  json["text"] = parts.content;
  json["tool_calls"] = ToolCallsJson(parts.calls, number);
  return json;
}

}  // namespace

Json LogprobsJson(std::span<const runtime::TokenLogprobs> tokens,
                  const tokenizer::Tokenizer& tokenizer) {
  Json list = Json::MakeArray();
  for (const runtime::TokenLogprobs& token : tokens) {
    Json one = LogprobJson(token.picked, tokenizer);
    one["top_logprobs"] = ListOf(token.top, tokenizer, &LogprobJson);
    list.push_back(std::move(one));
  }
  return list;
}

Json ProbabilitiesJson(std::span<const runtime::TokenLogprobs> tokens,
                       const tokenizer::Tokenizer& tokenizer) {
  Json list = Json::MakeArray();
  for (const runtime::TokenLogprobs& token : tokens) {
    const std::span draw(token.draw);
    Json one = ProbabilityJson(draw.front(), tokenizer);
    one["top_probs"] = ListOf(draw.subspan(1), tokenizer, &ProbabilityJson);
    list.push_back(std::move(one));
  }
  return list;
}

/// Rates of generation leave the first token out: its time is part of the prompt's.
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

std::optional<Json> CallArguments(const FoundCall& call) {
  auto arguments = Json::Parse(call.arguments, {.max_depth = 100});
  return arguments ? std::optional(*std::move(arguments)) : std::nullopt;
}

Json ToolCallsJson(std::span<const FoundCall> calls, std::size_t number) {
  Json list = Json::MakeArray();
  for (const FoundCall& call : calls) {
    list.push_back({{"id", fmt::format("call_{}_{}", number, list.size())},
                    {"type", "function"},
                    {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
  }
  return list;
}

Json AnswerJson(const TextRequest& request, std::span<const runtime::GenerateResult> results,
                const tokenizer::Tokenizer& tokenizer, std::span<const std::string> receipts) {
  const auto one = [&](std::size_t i) {
    Json json = SequenceJson(request, i, results[i], tokenizer);
    if (!receipts.empty()) json["receipt"] = Json::Parse(receipts[i], {}).value_or(Json());
    return json;
  };
  Json answer = one(0);
  if (results.size() == 1) return answer;
  Json choices = Json::MakeArray({answer});
  for (std::size_t i = 1; i < results.size(); ++i) choices.push_back(one(i));
  answer["choices"] = std::move(choices);
  return answer;
}

}  // namespace bittern::request
