// SPDX-License-Identifier: Apache-2.0
// llama-server's own doors: /completion, /tokenize, /detokenize, /apply-template; and /verify.
// Handlers run on a reader's thread.
#pragma once

#include <memory>

#include "serve/core/endpoint.hpp"

namespace bittern::serve {

[[nodiscard]] Result<void> LlamaCompletion(Service* service, const ApiRequest& request,
                                           const std::shared_ptr<Exchange>& exchange);
[[nodiscard]] Result<void> Tokenize(Service* service, const ApiRequest& request,
                                    const std::shared_ptr<Exchange>& exchange);
[[nodiscard]] Result<void> Detokenize(Service* service, const ApiRequest& request,
                                      const std::shared_ptr<Exchange>& exchange);
[[nodiscard]] Result<void> ApplyTemplate(Service* service, const ApiRequest& request,
                                         const std::shared_ptr<Exchange>& exchange);
/// Replays the answers of receipts on this server: {"identical", "what"}.
[[nodiscard]] Result<void> Verify(Service* service, const ApiRequest& request,
                                  const std::shared_ptr<Exchange>& exchange);

}  // namespace bittern::serve
