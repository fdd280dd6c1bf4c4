// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "serve/core/endpoint.hpp"

namespace bittern::serve {

/// The endpoints of Anthropic's API.
[[nodiscard]] std::span<const Endpoint> AnthropicEndpoints() noexcept;

}  // namespace bittern::serve
