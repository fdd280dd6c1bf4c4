// SPDX-License-Identifier: Apache-2.0
#include "cli/options/logprobs_json.hpp"

#include <algorithm>
#include <limits>

#include "base/utf8.hpp"

namespace bittern::cli {
namespace {

Json EntryJson(const runtime::TokenLogprob& entry, const tokenizer::Tokenizer& tokenizer) {
  const std::string_view bytes = tokenizer.TokenBytes(entry.id, /*render_special=*/true);
  auto numbers = Json::MakeArray();
  for (const char byte : bytes) numbers.push_back(static_cast<unsigned char>(byte));
  // JSON has no infinity; OpenAI writes -9999 for what can hardly be.
  const float logprob = std::max(entry.logprob, -9999.0f);
  return {{"id", entry.id},
          {"token", ReplaceInvalidUtf8(bytes)},
          {"bytes", std::move(numbers)},
          {"logprob", logprob}};
}

}  // namespace

Json ToJson(const runtime::TokenLogprobs& logprobs, const tokenizer::Tokenizer& tokenizer) {
  Json json = EntryJson(logprobs.picked, tokenizer);
  auto top = Json::MakeArray();
  for (const runtime::TokenLogprob& entry : logprobs.top)
    top.push_back(EntryJson(entry, tokenizer));
  json["top_logprobs"] = std::move(top);
  return json;
}

Json LogprobsJson(std::span<const runtime::TokenLogprobs> logprobs,
                  const tokenizer::Tokenizer& tokenizer) {
  auto content = Json::MakeArray();
  for (const runtime::TokenLogprobs& entry : logprobs) content.push_back(ToJson(entry, tokenizer));
  return {{"content", std::move(content)}};
}

}  // namespace bittern::cli
