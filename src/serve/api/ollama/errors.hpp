// SPDX-License-Identifier: Apache-2.0
// Ollama's shape of errors. Any thread.
#pragma once

#include "base/json/json.hpp"
#include "serve/core/api_error.hpp"

namespace bittern::serve {

/// {"error": text}
[[nodiscard]] inline HttpReply OllamaError(const ApiError& error) {
  const Json body = {{"error", error.message}};
  return {.status = error.status, .body = body.Dump(), .headers = error.headers};
}

}  // namespace bittern::serve
