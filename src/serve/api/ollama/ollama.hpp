// SPDX-License-Identifier: Apache-2.0
// Ollama's /api/...: what its clients need to find a model and to talk to it.
#pragma once

#include <memory>

#include "serve/core/endpoint.hpp"

namespace bittern::serve {

// By the thread of the sockets.
[[nodiscard]] HttpReply OllamaVersion(const QuickContext& context);
[[nodiscard]] HttpReply OllamaTags(const QuickContext& context);
[[nodiscard]] HttpReply OllamaRunning(const QuickContext& context);

// For a server of several models.
[[nodiscard]] HttpReply OllamaVersionOfAll(const Models& models, const HttpRequest& request,
                                           const HttpStats& http);
[[nodiscard]] HttpReply OllamaTagsOfAll(const Models& models, const HttpRequest& request,
                                        const HttpStats& http);
[[nodiscard]] HttpReply OllamaRunningOfAll(const Models& models, const HttpRequest& request,
                                           const HttpStats& http);

// By a reader's thread.
[[nodiscard]] Result<void> OllamaShow(Service* service, const ApiRequest& request,
                                      const std::shared_ptr<Exchange>& exchange);
[[nodiscard]] Result<void> OllamaChat(Service* service, const ApiRequest& request,
                                      const std::shared_ptr<Exchange>& exchange);
[[nodiscard]] Result<void> OllamaGenerate(Service* service, const ApiRequest& request,
                                          const std::shared_ptr<Exchange>& exchange);
[[nodiscard]] Result<void> OllamaEmbed(Service* service, const ApiRequest& request,
                                       const std::shared_ptr<Exchange>& exchange);
[[nodiscard]] Result<void> OllamaEmbeddings(Service* service, const ApiRequest& request,
                                            const std::shared_ptr<Exchange>& exchange);

}  // namespace bittern::serve
