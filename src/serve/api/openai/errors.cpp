// SPDX-License-Identifier: Apache-2.0
#include "serve/api/openai/errors.hpp"

#include "base/json/json.hpp"

namespace bittern::serve {

/// "exceed_context_size_error" with its two numbers is llama-server's.
HttpReply OpenAiError(const ApiError& error) {
  HttpReply reply = PlainErrorReply(error);
  if (!error.too_long) return reply;
  const Json inner = {{"code", error.status},
                      {"message", error.message},
                      {"type", "exceed_context_size_error"},
                      {"param", nullptr},
                      {"n_prompt_tokens", error.too_long->tokens},
                      {"n_ctx", error.too_long->context}};
  reply.body = Json{{"error", inner}}.Dump();
  return reply;
}

}  // namespace bittern::serve
