// SPDX-License-Identifier: Apache-2.0
// Ollama's /api/...: what its clients need to find a model and to talk to it.
#pragma once

#include <memory>

#include "serve/api/endpoints.hpp"

namespace bittern::serve {

// By the thread of the sockets.
[[nodiscard]] HttpReply OllamaVersion(const QuickContext& context);
[[nodiscard]] HttpReply OllamaTags(const QuickContext& context);
[[nodiscard]] HttpReply OllamaRunning(const QuickContext& context);

// By the worker's thread.
[[nodiscard]] Result<void> OllamaShow(Service* service, const HttpRequest& request,
                                      const std::shared_ptr<Exchange>& exchange);
[[nodiscard]] Result<void> OllamaChat(Service* service, const HttpRequest& request,
                                      const std::shared_ptr<Exchange>& exchange);
[[nodiscard]] Result<void> OllamaGenerate(Service* service, const HttpRequest& request,
                                          const std::shared_ptr<Exchange>& exchange);
[[nodiscard]] Result<void> OllamaEmbed(Service* service, const HttpRequest& request,
                                       const std::shared_ptr<Exchange>& exchange);

}  // namespace bittern::serve
