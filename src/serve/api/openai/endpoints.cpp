// SPDX-License-Identifier: Apache-2.0
#include "serve/api/openai/endpoints.hpp"

#include "serve/api/openai/completions.hpp"
#include "serve/api/openai/embeddings.hpp"
#include "serve/api/openai/errors.hpp"
#include "serve/api/openai/models.hpp"
#include "serve/api/openai/responses.hpp"

namespace bittern::serve {

/// Paths without "/v1" are llama-server's. "/completions" is missing: it is llama-server's own
/// /completion.
Api OpenAiApi() noexcept {
  static constexpr Endpoint kEndpoints[] = {
      {.method = "GET",
       .path = "/v1/models",
       .also = "/models",
       .is_public = true,
       .quick = ListModel,
       .all = ListAllModels,
       .lists = true,
       .needs_no_name = true},
      {.method = "GET",
       .path = "/v1/models/*",
       .is_public = true,
       .quick = ShowModel,
       .all = ShowOneOfModels,
       .lists = true,
       .needs_no_name = true},
      {.method = "POST",
       .path = "/v1/chat/completions",
       .also = "/chat/completions",
       .run = ChatCompletions},
      {.method = "POST",
       .path = "/v1/chat/completions/input_tokens",
       .also = "/chat/completions/input_tokens",
       .run = ChatInputTokens},
      {.method = "POST", .path = "/v1/completions", .run = Completions},
      {.method = "POST", .path = "/v1/embeddings", .run = OpenAiEmbeddings},
      {.method = "POST", .path = "/v1/responses", .also = "/responses", .run = Responses},
      {.method = "POST",
       .path = "/v1/responses/input_tokens",
       .also = "/responses/input_tokens",
       .run = ResponseInputTokens},
  };
  return {.error = OpenAiError, .endpoints = kEndpoints};
}

}  // namespace bittern::serve
