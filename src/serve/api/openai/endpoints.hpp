// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "serve/core/endpoint.hpp"

namespace bittern::serve {

/// The endpoints of OpenAI's API.
[[nodiscard]] std::span<const Endpoint> OpenAiEndpoints() noexcept;

}  // namespace bittern::serve
