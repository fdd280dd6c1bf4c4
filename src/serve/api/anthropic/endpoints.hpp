// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "serve/core/endpoint.hpp"

namespace bittern::serve {

/// Anthropic's API.
[[nodiscard]] Api AnthropicApi() noexcept;

}  // namespace bittern::serve
