// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "serve/core/endpoint.hpp"

namespace bittern::serve {

/// The endpoints of llama-server, and the web page.
[[nodiscard]] std::span<const Endpoint> LlamaEndpoints() noexcept;

}  // namespace bittern::serve
