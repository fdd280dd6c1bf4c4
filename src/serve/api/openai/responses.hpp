// SPDX-License-Identifier: Apache-2.0
// OpenAI's /v1/responses. Nothing is stored: a conversation comes whole with each request. Handlers
// run on a reader's thread.
#pragma once

#include <memory>

#include "serve/core/endpoint.hpp"

namespace bittern::serve {

[[nodiscard]] Result<void> Responses(Service* service, const ApiRequest& request,
                                     const std::shared_ptr<Exchange>& exchange);
/// How many tokens the prompt has; nothing runs.
[[nodiscard]] Result<void> ResponseInputTokens(Service* service, const ApiRequest& request,
                                               const std::shared_ptr<Exchange>& exchange);

}  // namespace bittern::serve
