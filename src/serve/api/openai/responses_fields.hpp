// SPDX-License-Identifier: Apache-2.0
// A request to /v1/responses, read. Any thread.
#pragma once

#include <string>

#include "request/text_request.hpp"
#include "serve/core/service.hpp"

namespace bittern::serve {

struct ResponsesRequest {
  request::TextRequest call = {};
  Json told = {};  ///< members of the request that the answer repeats
};

[[nodiscard]] Result<ResponsesRequest> ReadResponses(const Service& service,
                                                     const request::Target& target,
                                                     const Json& body);

}  // namespace bittern::serve
