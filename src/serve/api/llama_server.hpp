// SPDX-License-Identifier: Apache-2.0
// llama-server's own doors: /completion, /tokenize, /detokenize, /apply-template. Handlers run on
// the worker's thread.
#pragma once

#include <memory>

#include "serve/core/call.hpp"

namespace bittern::serve {

[[nodiscard]] Result<void> LlamaCompletion(Service* service, const HttpRequest& request,
                                           const std::shared_ptr<Exchange>& exchange);
[[nodiscard]] Result<void> Tokenize(Service* service, const HttpRequest& request,
                                    const std::shared_ptr<Exchange>& exchange);
[[nodiscard]] Result<void> Detokenize(Service* service, const HttpRequest& request,
                                      const std::shared_ptr<Exchange>& exchange);
[[nodiscard]] Result<void> ApplyTemplate(Service* service, const HttpRequest& request,
                                         const std::shared_ptr<Exchange>& exchange);

}  // namespace bittern::serve
