// SPDX-License-Identifier: Apache-2.0
#include "serve/api/anthropic/errors.hpp"

#include "base/json/json.hpp"
#include "serve/http/http_text.hpp"

namespace bittern::serve {

/// Two statuses have names of Anthropic's own; clients may retry after "overloaded_error". The code
/// beside "thread" tells Anthropic's SDK to go on without one.
HttpReply AnthropicError(const ApiError& error) {
  std::string_view type = ErrorType(error.status);
  if (error.status == 500) type = "api_error";
  if (error.status == 503) type = "overloaded_error";
  Json body = {{"type", "error"}, {"error", {{"type", type}, {"message", error.message}}}};
  if (error.param == "thread") {
    body["error"]["details"] = {{"error_code", "thread_unsupported_request"},
                                {"unsupported", Json::MakeArray({"thread"})}};
  }
  return {.status = error.status, .body = body.Dump(), .headers = error.headers};
}

}  // namespace bittern::serve
