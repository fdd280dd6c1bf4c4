// SPDX-License-Identifier: Apache-2.0
// An error before it has the shape of an API. Any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "serve/http/http_server.hpp"

namespace bittern::serve {

/// Tokens of a prompt beside those that the context holds.
struct PromptTooLong {
  std::size_t tokens = 0;
  int context = 0;
};

struct ApiError {
  int status = 400;  ///< of HTTP
  std::string message = {};
  std::string param = {};  ///< the field that is wrong; empty: none
  std::optional<PromptTooLong> too_long = {};
  HttpHeaders headers = {};  ///< of the answer
};

/// The status that an error of the library stands for, its text and its field.
[[nodiscard]] ApiError ApiErrorOf(const Error& error);

/// 503 with Retry-After, where so many requests are active: clients try again by themselves.
[[nodiscard]] ApiError QueueFull(std::size_t active);

/// How an API writes an error.
using ErrorShape = HttpReply (*)(const ApiError& error);

/// {"error": {"code", "message", "type", "param"}}: for requests that belong to no API.
[[nodiscard]] HttpReply PlainErrorReply(const ApiError& error);

}  // namespace bittern::serve
