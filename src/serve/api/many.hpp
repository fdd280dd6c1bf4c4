// SPDX-License-Identifier: Apache-2.0
// What a server of several models tells of them, and which one a request means. Any thread.
#pragma once

#include <optional>
#include <string>

#include "serve/core/models.hpp"
#include "serve/http/http_server.hpp"

namespace bittern::serve {

/// The answer to a GET request about all models together; nothing where it is about one of them.
[[nodiscard]] std::optional<HttpReply> AllModelsReply(const Models& models,
                                                      const HttpRequest& request,
                                                      const HttpStats& http);

/// The model that a request names: "model" in its body, or ?model=. The only one there is needs no
/// name, and ":latest" may follow it. Errors: kInvalidArgument (no name, no JSON).
[[nodiscard]] Result<std::string> ModelOfRequest(const Models& models, const HttpRequest& request);

/// POST /models/load and /models/unload.
[[nodiscard]] bool IsModelCommand(const HttpRequest& request);
void RunModelCommand(Models* models, const HttpRequest& request,
                     const std::shared_ptr<Exchange>& exchange);

}  // namespace bittern::serve
