// SPDX-License-Identifier: Apache-2.0
#include "cli/options/logprobs_json.hpp"

#include <algorithm>
#include <limits>

#include "base/utf8.hpp"

namespace bittern::cli {
namespace {

nlohmann::ordered_json EntryJson(const runtime::TokenLogprob& entry,
                                 const tokenizer::Tokenizer& tokenizer) {
  const std::string_view bytes = tokenizer.TokenBytes(entry.id, /*render_special=*/true);
  auto numbers = nlohmann::ordered_json::array();
  for (const char byte : bytes) numbers.push_back(static_cast<unsigned char>(byte));
  // JSON has no infinity; OpenAI writes -9999 for what can hardly be.
  const float logprob = std::max(entry.logprob, -9999.0f);
  return {{"id", entry.id},
          {"token", ReplaceInvalidUtf8(bytes)},
          {"bytes", std::move(numbers)},
          {"logprob", logprob}};
}

}  // namespace

nlohmann::ordered_json ToJson(const runtime::TokenLogprobs& logprobs,
                              const tokenizer::Tokenizer& tokenizer) {
  nlohmann::ordered_json json = EntryJson(logprobs.picked, tokenizer);
  auto top = nlohmann::ordered_json::array();
  for (const runtime::TokenLogprob& entry : logprobs.top)
    top.push_back(EntryJson(entry, tokenizer));
  json["top_logprobs"] = std::move(top);
  return json;
}

nlohmann::ordered_json LogprobsJson(std::span<const runtime::TokenLogprobs> logprobs,
                                    const tokenizer::Tokenizer& tokenizer) {
  auto content = nlohmann::ordered_json::array();
  for (const runtime::TokenLogprobs& entry : logprobs) content.push_back(ToJson(entry, tokenizer));
  return {{"content", std::move(content)}};
}

}  // namespace bittern::cli
