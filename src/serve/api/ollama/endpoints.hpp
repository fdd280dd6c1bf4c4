// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "serve/core/endpoint.hpp"

namespace bittern::serve {

/// The endpoints of Ollama's API.
[[nodiscard]] std::span<const Endpoint> OllamaEndpoints() noexcept;

}  // namespace bittern::serve
