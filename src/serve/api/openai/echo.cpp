// SPDX-License-Identifier: Apache-2.0
// A session of its own, not the engine: the engine keeps no logits of prompts. The values are the
// same, since logits do not depend on how a prompt was read.
#include "serve/api/openai/echo.hpp"

#include "runtime/session.hpp"

namespace bittern::serve {

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
    if (next < prompt.size()) all.push_back(runtime::LogprobsOf(logits, prompt[next], count));
  }));
  return all;
}

}  // namespace bittern::serve
