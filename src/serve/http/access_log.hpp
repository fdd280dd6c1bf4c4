// SPDX-License-Identifier: Apache-2.0
// A line of the log for each request. Any thread.
#pragma once

#include <string>

#include "serve/http/http_server.hpp"

namespace bittern::serve {

/// "PEER METHOD PATH STATUS N bytes S s NOTE", with a line break.
[[nodiscard]] std::string AccessText(const AccessRecord& record);
/// {"peer", "method", "path", "status", "bytes", "seconds", "gone", "note"}, with a line break.
[[nodiscard]] std::string AccessJson(const AccessRecord& record);

}  // namespace bittern::serve
