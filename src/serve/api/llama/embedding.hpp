// SPDX-License-Identifier: Apache-2.0
// llama-server's /embedding. Handlers run on a reader's thread.
#pragma once

#include <memory>

#include "serve/core/endpoint.hpp"

namespace bittern::serve {

[[nodiscard]] Result<void> LlamaEmbedding(Service* service, const ApiRequest& request,
                                          const std::shared_ptr<Exchange>& exchange);

}  // namespace bittern::serve
