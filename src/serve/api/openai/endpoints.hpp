// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "serve/core/endpoint.hpp"

namespace bittern::serve {

/// OpenAI's API.
[[nodiscard]] Api OpenAiApi() noexcept;

}  // namespace bittern::serve
