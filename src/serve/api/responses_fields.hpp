// SPDX-License-Identifier: Apache-2.0
// A request to /v1/responses, read. Any thread.
#pragma once

#include <string>

#include "serve/api/telemetry.hpp"
#include "serve/api/tools.hpp"

namespace bittern::serve {

struct ResponsesRequest {
  CallRequest call = {};
  TelemetryRequest telemetry = {};
  ToolReading tools = {};
  Json told = {};  ///< members of the request that the answer repeats
};

[[nodiscard]] Result<ResponsesRequest> ReadResponses(const Service& service, const Json& body);

}  // namespace bittern::serve
