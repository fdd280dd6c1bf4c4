// SPDX-License-Identifier: Apache-2.0
#include "serve/core/api_error.hpp"

#include <fmt/format.h>

#include "request/fields/field_reader.hpp"
#include "serve/http/http_text.hpp"

namespace bittern::serve {
namespace {

/// The HTTP status of an error. 503 means that the same request may succeed later.
int StatusOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kContextFull:
      return 400;
    case ErrorCode::kUnsupported:
      return 501;
    case ErrorCode::kNotFound:
      return 404;
    case ErrorCode::kOutOfMemory:
    case ErrorCode::kCancelled:
      return 503;
    default:
      return 500;
  }
}

/// Errors about files begin with the file's path; clients get its name only.
std::string WithoutFolder(const Error& error) {
  const bool about_file = error.code == ErrorCode::kCorruptFile || error.code == ErrorCode::kIo ||
                          error.code == ErrorCode::kNotFound ||
                          error.code == ErrorCode::kUnsupported;
  const std::size_t end = about_file ? error.message.find(": ") : std::string::npos;
  if (end == std::string::npos) return error.message;
  const std::size_t slash = error.message.rfind('/', end);
  return slash == std::string::npos ? error.message : error.message.substr(slash + 1);
}

}  // namespace

ApiError ApiErrorOf(const Error& error) {
  return {.status = StatusOf(error.code),
          .message = WithoutFolder(error),
          .param = request::FieldOfError(error)};
}

ApiError QueueFull(std::size_t active) {
  return {.status = 503,
          .message = fmt::format("{} requests are running or waiting; try again later", active),
          .headers = {{"Retry-After", "1"}}};
}

HttpReply PlainErrorReply(const ApiError& error) {
  return {.status = error.status,
          .body = ErrorBody(error.status, error.message, error.param),
          .headers = error.headers};
}

}  // namespace bittern::serve
