// SPDX-License-Identifier: Apache-2.0
// Anthropic's shape of errors. Any thread.
#pragma once

#include "serve/core/api_error.hpp"

namespace bittern::serve {

/// {"type": "error", "error": {"type", "message"}}
[[nodiscard]] HttpReply AnthropicError(const ApiError& error);

}  // namespace bittern::serve
