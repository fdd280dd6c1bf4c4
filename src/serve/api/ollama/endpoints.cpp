// SPDX-License-Identifier: Apache-2.0
#include "serve/api/ollama/endpoints.hpp"

#include "serve/api/ollama/errors.hpp"
#include "serve/api/ollama/ollama.hpp"

namespace bittern::serve {

/// /api/tags is open without a key, as with llama-server.
Api OllamaApi() noexcept {
  static constexpr Endpoint kEndpoints[] = {
      {.method = "GET",
       .path = "/api/version",
       .quick = OllamaVersion,
       .all = OllamaVersionOfAll,
       .needs_no_name = true},
      {.method = "GET",
       .path = "/api/tags",
       .is_public = true,
       .quick = OllamaTags,
       .all = OllamaTagsOfAll,
       .lists = true,
       .needs_no_name = true},
      {.method = "GET",
       .path = "/api/ps",
       .quick = OllamaRunning,
       .all = OllamaRunningOfAll,
       .needs_no_name = true},
      {.method = "POST", .path = "/api/show", .run = OllamaShow},
      {.method = "POST", .path = "/api/chat", .run = OllamaChat},
      {.method = "POST", .path = "/api/generate", .run = OllamaGenerate},
      {.method = "POST", .path = "/api/embed", .run = OllamaEmbed},
      {.method = "POST", .path = "/api/embeddings", .run = OllamaEmbeddings},
  };
  return {.error = OllamaError, .endpoints = kEndpoints, .front = "/api"};
}

}  // namespace bittern::serve
