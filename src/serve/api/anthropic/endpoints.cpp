// SPDX-License-Identifier: Apache-2.0
#include "serve/api/anthropic/endpoints.hpp"

#include "serve/api/anthropic/errors.hpp"
#include "serve/api/anthropic/messages.hpp"

namespace bittern::serve {

Api AnthropicApi() noexcept {
  static constexpr Endpoint kEndpoints[] = {
      {.method = "POST", .path = "/v1/messages", .run = Messages},
      {.method = "POST", .path = "/v1/messages/count_tokens", .run = CountMessageTokens},
  };
  return {.error = AnthropicError, .endpoints = kEndpoints, .front = "/v1/messages"};
}

}  // namespace bittern::serve
