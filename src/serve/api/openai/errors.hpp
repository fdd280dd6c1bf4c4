// SPDX-License-Identifier: Apache-2.0
// OpenAI's shape of errors, with llama-server's types and numbers. Any thread.
#pragma once

#include "serve/core/api_error.hpp"

namespace bittern::serve {

/// {"error": {"code", "message", "type", "param"}}; a prompt that is too long has a type of its
/// own.
[[nodiscard]] HttpReply OpenAiError(const ApiError& error);

}  // namespace bittern::serve
