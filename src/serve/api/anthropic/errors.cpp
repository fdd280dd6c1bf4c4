// SPDX-License-Identifier: Apache-2.0
#include "serve/api/anthropic/errors.hpp"

#include "base/json/json.hpp"
#include "serve/http/http_text.hpp"

namespace bittern::serve {

/// Two statuses have names of Anthropic's own; clients may retry after "overloaded_error".
HttpReply AnthropicError(const ApiError& error) {
  std::string_view type = ErrorType(error.status);
  if (error.status == 500) type = "api_error";
  if (error.status == 503) type = "overloaded_error";
  const Json body = {{"type", "error"}, {"error", {{"type", type}, {"message", error.message}}}};
  return {.status = error.status, .body = body.Dump(), .headers = error.headers};
}

}  // namespace bittern::serve
