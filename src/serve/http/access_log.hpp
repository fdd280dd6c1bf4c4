// SPDX-License-Identifier: Apache-2.0
// A line of the log for each request. Any thread.
#pragma once

#include <string>

#include "serve/http/http_server.hpp"

namespace bittern::serve {

/// "TIME ID PEER METHOD PATH STATUS N bytes S s NOTE", with a line break.
[[nodiscard]] std::string AccessText(const AccessRecord& record);
/// {"time", "id", "peer", "method", "path", "status", "bytes", "seconds", "gone", "note"}, with a
/// line break; where a model answered "model", "prompt_tokens", "cached_tokens" and
/// "completion_tokens", too. Times are those of RFC 3339, in UTC; the id is the X-Request-Id.
[[nodiscard]] std::string AccessJson(const AccessRecord& record);

}  // namespace bittern::serve
