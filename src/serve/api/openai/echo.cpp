// SPDX-License-Identifier: Apache-2.0
// A session of its own, not the engine: the engine keeps no logits of prompts. The values are the
// same, since logits do not depend on how a prompt was read.
#include "serve/api/openai/echo.hpp"

#include <optional>

#include "runtime/session.hpp"

namespace bittern::serve {
namespace {

/// The likeliest token that ends a text; none where the vocabulary has none.
std::optional<TokenId> EndToken(const tokenizer::Tokenizer& tokenizer,
                                std::span<const float> logits) {
  std::optional<TokenId> best;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    if (!tokenizer.IsEndOfGeneration(id)) continue;
    if (!best || logits[i] > logits[static_cast<std::size_t>(*best)]) best = id;
  }
  return best;
}

}  // namespace

Result<TokenList> PromptLogprobs(const Service& service, const std::vector<TokenId>& prompt,
                                 int count) {
  const runtime::EngineOptions& engine = service.options().engine;
  auto session = BITTERN_TRY(runtime::Session::Create(
      service.shared_model(), {.context_length = static_cast<int>(prompt.size()),
                               .kv_type = engine.kv_type,
                               .num_threads = engine.num_threads}));
  TokenList all;
  BITTERN_TRY(session.PrefillAll(prompt, [&](int position, std::span<const float> logits) {
    const auto next = static_cast<std::size_t>(position) + 1;
    const std::optional<TokenId> id =
        next < prompt.size() ? prompt[next] : EndToken(service.tokenizer(), logits);
    if (id) all.push_back(runtime::LogprobsOf(logits, *id, count));
  }));
  return all;
}

}  // namespace bittern::serve
