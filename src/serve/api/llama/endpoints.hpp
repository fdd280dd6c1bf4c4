// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "serve/core/endpoint.hpp"

namespace bittern::serve {

/// llama-server's endpoints, and the web page.
[[nodiscard]] Api LlamaServerApi() noexcept;

}  // namespace bittern::serve
