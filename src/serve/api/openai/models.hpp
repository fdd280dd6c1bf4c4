// SPDX-License-Identifier: Apache-2.0
// /v1/models: what is served here. By the thread of the sockets.
#pragma once

#include "serve/core/endpoint.hpp"

namespace bittern::serve {

/// The one model that is served.
[[nodiscard]] HttpReply ListModel(const QuickContext& context);
/// It, by the name at the end of the path. Status 404: no such model.
[[nodiscard]] HttpReply ShowModel(const QuickContext& context);

/// For a server of several models: all of them or one, with their states.
[[nodiscard]] HttpReply ListAllModels(const Models& models, const HttpRequest& request,
                                      const HttpStats& http);
[[nodiscard]] HttpReply ShowOneOfModels(const Models& models, const HttpRequest& request,
                                        const HttpStats& http);

}  // namespace bittern::serve
