// SPDX-License-Identifier: Apache-2.0
// Finds the endpoint that a request asks for, in the tables of all APIs, and the model that it
// names. Any thread.
#pragma once

#include <string>

#include "serve/core/endpoint.hpp"

namespace bittern::serve {

struct EndpointMatch {
  const Endpoint* endpoint = nullptr;
  ErrorShape error = PlainErrorReply;  ///< of the API that the path belongs to
  std::string allowed = {};            ///< methods of the path, where the request's is none of them
};

/// The shape of errors at a path (as it was sent), also where nothing is there.
[[nodiscard]] ErrorShape ErrorShapeOf(std::string_view path);

/// `many`: several models are served.
[[nodiscard]] EndpointMatch FindEndpoint(const HttpRequest& request, bool many);

/// 404, or 405 with the methods that there are.
[[nodiscard]] HttpReply NoEndpointReply(const HttpRequest& request, const EndpointMatch& match);

/// The model that a request names: ?model=, or "model" or "name" in its body. The only one there is
/// needs no name, and ":latest" may follow it. Error kInvalidArgument: no name.
[[nodiscard]] Result<std::string> ModelOfRequest(const Models& models, const ApiRequest& request);

}  // namespace bittern::serve
