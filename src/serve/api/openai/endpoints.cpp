// SPDX-License-Identifier: Apache-2.0
#include "serve/api/openai/endpoints.hpp"

#include "serve/api/openai/completions.hpp"
#include "serve/api/openai/errors.hpp"
#include "serve/api/openai/models.hpp"
#include "serve/api/openai/responses.hpp"

namespace bittern::serve {

std::span<const Endpoint> OpenAiEndpoints() noexcept {
  static constexpr Endpoint kEndpoints[] = {

      {.method = "GET",
       .path = "/v1/models",
       .is_public = true,
       .quick = ListModel,
       .all = ListAllModels,
       .needs_no_name = true,
       .error = OpenAiError},
      {.method = "GET",
       .path = "/models",
       .is_public = true,
       .quick = ListModel,
       .all = ListAllModels,
       .needs_no_name = true,
       .error = OpenAiError},
      {.method = "GET",
       .path = "/v1/models/*",
       .quick = ShowModel,
       .all = ShowOneOfModels,
       .needs_no_name = true,
       .error = OpenAiError},
      {.method = "POST",
       .path = "/v1/chat/completions",
       .run = ChatCompletions,
       .error = OpenAiError},
      {.method = "POST", .path = "/chat/completions", .run = ChatCompletions, .error = OpenAiError},
      {.method = "POST",
       .path = "/v1/chat/completions/input_tokens",
       .run = ChatInputTokens,
       .error = OpenAiError},
      {.method = "POST",
       .path = "/chat/completions/input_tokens",
       .run = ChatInputTokens,
       .error = OpenAiError},
      {.method = "POST", .path = "/v1/completions", .run = Completions, .error = OpenAiError},
      {.method = "POST", .path = "/v1/responses", .run = Responses, .error = OpenAiError},
      {.method = "POST", .path = "/responses", .run = Responses, .error = OpenAiError},
      {.method = "POST",
       .path = "/v1/responses/input_tokens",
       .run = ResponseInputTokens,
       .error = OpenAiError},
      {.method = "POST",
       .path = "/responses/input_tokens",
       .run = ResponseInputTokens,
       .error = OpenAiError},
  };
  return kEndpoints;
}

}  // namespace bittern::serve
