// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "serve/core/endpoint.hpp"

namespace bittern::serve {

/// The tag that Ollama's clients expect in a name. A request may have it or not.
inline constexpr std::string_view kLatest = ":latest";

/// Ollama's API.
[[nodiscard]] Api OllamaApi() noexcept;

}  // namespace bittern::serve
