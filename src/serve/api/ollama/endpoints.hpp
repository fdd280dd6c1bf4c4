// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "serve/core/endpoint.hpp"

namespace bittern::serve {

/// Ollama's API.
[[nodiscard]] Api OllamaApi() noexcept;

}  // namespace bittern::serve
