// SPDX-License-Identifier: Apache-2.0
// Anthropic's /v1/messages and /v1/messages/count_tokens. Handlers run on a reader's thread.
#pragma once

#include <memory>

#include "serve/core/endpoint.hpp"

namespace bittern::serve {

[[nodiscard]] Result<void> Messages(Service* service, const ApiRequest& request,
                                    const std::shared_ptr<Exchange>& exchange);
[[nodiscard]] Result<void> CountMessageTokens(Service* service, const ApiRequest& request,
                                              const std::shared_ptr<Exchange>& exchange);

}  // namespace bittern::serve
