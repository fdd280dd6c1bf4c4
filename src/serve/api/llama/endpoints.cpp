// SPDX-License-Identifier: Apache-2.0
#include "serve/api/llama/endpoints.hpp"

#include "serve/api/llama/completion.hpp"
#include "serve/api/llama/embedding.hpp"
#include "serve/api/llama/model_commands.hpp"
#include "serve/api/llama/slots.hpp"
#include "serve/api/llama/status.hpp"
#include "serve/api/openai/errors.hpp"
#include "serve/page/page.hpp"

namespace bittern::serve {

/// /health is open without a key, so that load balancers can ask it.
Api LlamaServerApi() noexcept {
  static constexpr Endpoint kEndpoints[] = {
      {.method = "GET", .path = "/", .is_public = true, .page = PageReply},
      {.method = "GET",
       .path = "/health",
       .also = "/v1/health",
       .is_public = true,
       .quick = Health,
       .all = HealthOfAll,
       .needs_no_name = true},
      {.method = "GET", .path = "/props", .quick = Props, .all = PropsOfAll},
      {.method = "GET", .path = "/tokenizer_info", .quick = TokenizerInfo},
      {.method = "GET", .path = "/slots", .quick = Slots},
      {.method = "POST", .path = "/slots/*", .raw_body = true, .run = SlotAction},
      {.method = "GET", .path = "/metrics", .quick = Metrics, .all = MetricsOfAll},
      {.method = "POST", .path = "/models/load", .command = LoadModelCommand},
      {.method = "POST", .path = "/models/unload", .command = UnloadModelCommand},
      {.method = "POST", .path = "/completion", .also = "/completions", .run = LlamaCompletion},
      {.method = "POST", .path = "/embedding", .also = "/embeddings", .run = LlamaEmbedding},
      {.method = "POST", .path = "/tokenize", .run = Tokenize},
      {.method = "POST", .path = "/detokenize", .run = Detokenize},
      {.method = "POST", .path = "/verify", .raw_body = true, .run = Verify},
      {.method = "POST", .path = "/apply-template", .run = ApplyTemplate},
  };
  return {.error = OpenAiError, .endpoints = kEndpoints};
}

}  // namespace bittern::serve
