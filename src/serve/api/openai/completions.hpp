// SPDX-License-Identifier: Apache-2.0
// OpenAI's /v1/chat/completions and /v1/completions. Handlers run on a reader's thread.
#pragma once

#include <memory>

#include "serve/core/endpoint.hpp"

namespace bittern::serve {

[[nodiscard]] Result<void> ChatCompletions(Service* service, const ApiRequest& request,
                                           const std::shared_ptr<Exchange>& exchange);
[[nodiscard]] Result<void> Completions(Service* service, const ApiRequest& request,
                                       const std::shared_ptr<Exchange>& exchange);
/// How many tokens a chat request's prompt has; nothing runs.
[[nodiscard]] Result<void> ChatInputTokens(Service* service, const ApiRequest& request,
                                           const std::shared_ptr<Exchange>& exchange);

}  // namespace bittern::serve
