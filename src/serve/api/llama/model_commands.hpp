// SPDX-License-Identifier: Apache-2.0
// POST /models/load and /models/unload of llama-server's router. By a reader's thread.
#pragma once

#include "serve/core/endpoint.hpp"

namespace bittern::serve {

/// Answers when the model is there.
[[nodiscard]] Result<void> LoadModelCommand(Models* models, const std::string& name,
                                            const std::shared_ptr<Exchange>& exchange);
/// Answers at once; the model goes when no request uses it.
[[nodiscard]] Result<void> UnloadModelCommand(Models* models, const std::string& name,
                                              const std::shared_ptr<Exchange>& exchange);

}  // namespace bittern::serve
