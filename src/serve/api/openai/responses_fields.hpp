// SPDX-License-Identifier: Apache-2.0
// A request to /v1/responses, read. Any thread.
#pragma once

#include <string>

#include "serve/api/shared/telemetry.hpp"
#include "serve/core/requests.hpp"

namespace bittern::serve {

struct ResponsesRequest {
  TextRequest call = {};
  Json told = {};  ///< members of the request that the answer repeats
};

[[nodiscard]] Result<ResponsesRequest> ReadResponses(const Service& service, const Json& body);

}  // namespace bittern::serve
