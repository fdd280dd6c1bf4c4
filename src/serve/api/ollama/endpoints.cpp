// SPDX-License-Identifier: Apache-2.0
#include "serve/api/ollama/endpoints.hpp"

#include "serve/api/ollama/errors.hpp"
#include "serve/api/ollama/ollama.hpp"

namespace bittern::serve {

std::span<const Endpoint> OllamaEndpoints() noexcept {
  static constexpr Endpoint kEndpoints[] = {

      {.method = "GET",
       .path = "/api/version",
       .quick = OllamaVersion,
       .all = OllamaVersionOfAll,
       .needs_no_name = true,
       .error = OllamaError},
      {.method = "GET",
       .path = "/api/tags",
       .is_public = true,
       .quick = OllamaTags,
       .all = OllamaTagsOfAll,
       .needs_no_name = true,
       .error = OllamaError},
      {.method = "GET",
       .path = "/api/ps",
       .quick = OllamaRunning,
       .all = OllamaRunningOfAll,
       .needs_no_name = true,
       .error = OllamaError},
      {.method = "POST", .path = "/api/show", .run = OllamaShow, .error = OllamaError},
      {.method = "POST", .path = "/api/chat", .run = OllamaChat, .error = OllamaError},
      {.method = "POST", .path = "/api/generate", .run = OllamaGenerate, .error = OllamaError},
      {.method = "POST", .path = "/api/embed", .run = OllamaEmbed, .error = OllamaError},
      {.method = "POST", .path = "/api/embeddings", .run = OllamaEmbed, .error = OllamaError},
  };
  return kEndpoints;
}

}  // namespace bittern::serve
