// SPDX-License-Identifier: Apache-2.0
// OpenAI's /v1/embeddings. Handlers run on a reader's thread.
#pragma once

#include <memory>

#include "serve/core/endpoint.hpp"

namespace bittern::serve {

[[nodiscard]] Result<void> OpenAiEmbeddings(Service* service, const ApiRequest& request,
                                            const std::shared_ptr<Exchange>& exchange);

}  // namespace bittern::serve
