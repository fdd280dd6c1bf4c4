// SPDX-License-Identifier: Apache-2.0
#include "serve/api/llama/endpoints.hpp"

#include "serve/api/llama/completion.hpp"
#include "serve/api/llama/model_commands.hpp"
#include "serve/api/llama/slots.hpp"
#include "serve/api/llama/status.hpp"
#include "serve/api/openai/errors.hpp"
#include "serve/page/page.hpp"

namespace bittern::serve {

std::span<const Endpoint> LlamaEndpoints() noexcept {
  static constexpr Endpoint kEndpoints[] = {

      {.method = "GET", .path = "/", .is_public = true, .page = PageReply, .error = OpenAiError},
      {.method = "GET",
       .path = "/health",
       .is_public = true,
       .quick = Health,
       .all = HealthOfAll,
       .needs_no_name = true,
       .error = OpenAiError},
      {.method = "GET",
       .path = "/v1/health",
       .is_public = true,
       .quick = Health,
       .all = HealthOfAll,
       .needs_no_name = true,
       .error = OpenAiError},
      {.method = "GET", .path = "/props", .quick = Props, .all = PropsOfAll, .error = OpenAiError},
      {.method = "GET", .path = "/slots", .quick = Slots, .error = OpenAiError},
      {.method = "POST",
       .path = "/slots/*",
       .raw_body = true,
       .run = SlotAction,
       .error = OpenAiError},
      {.method = "GET",
       .path = "/metrics",
       .quick = Metrics,
       .all = MetricsOfAll,
       .error = OpenAiError},
      {.method = "POST", .path = "/models/load", .command = LoadModelCommand, .error = OpenAiError},
      {.method = "POST",
       .path = "/models/unload",
       .command = UnloadModelCommand,
       .error = OpenAiError},
      {.method = "POST", .path = "/completion", .run = LlamaCompletion, .error = OpenAiError},
      {.method = "POST", .path = "/completions", .run = LlamaCompletion, .error = OpenAiError},
      {.method = "POST", .path = "/tokenize", .run = Tokenize, .error = OpenAiError},
      {.method = "POST", .path = "/detokenize", .run = Detokenize, .error = OpenAiError},
      {.method = "POST", .path = "/verify", .raw_body = true, .run = Verify, .error = OpenAiError},
      {.method = "POST", .path = "/apply-template", .run = ApplyTemplate, .error = OpenAiError},
  };
  return kEndpoints;
}

}  // namespace bittern::serve
