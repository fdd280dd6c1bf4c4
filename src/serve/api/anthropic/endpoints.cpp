// SPDX-License-Identifier: Apache-2.0
#include "serve/api/anthropic/endpoints.hpp"

#include "serve/api/anthropic/errors.hpp"
#include "serve/api/anthropic/messages.hpp"

namespace bittern::serve {

std::span<const Endpoint> AnthropicEndpoints() noexcept {
  static constexpr Endpoint kEndpoints[] = {

      {.method = "POST", .path = "/v1/messages", .run = Messages, .error = AnthropicError},
      {.method = "POST",
       .path = "/v1/messages/count_tokens",
       .run = CountMessageTokens,
       .error = AnthropicError},
  };
  return kEndpoints;
}

}  // namespace bittern::serve
