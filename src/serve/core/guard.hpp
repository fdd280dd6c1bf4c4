// SPDX-License-Identifier: Apache-2.0
// Access checks: API keys, and on loopback addresses the headers Host and Origin. A web page that a
// user has open must not reach a server on the same machine: Origin tells foreign pages, and Host
// tells DNS rebinding. Immutable; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serve/core/api_error.hpp"
#include "serve/http/http_server.hpp"

namespace bittern::serve {

struct ServerOptions;

/// True if only programs of the same machine reach an address to listen at.
[[nodiscard]] bool IsLoopbackHost(std::string_view host);

class Guard {
 public:
  explicit Guard(const ServerOptions& options);

  /// An error with status 403 if the request must not be served.
  [[nodiscard]] std::optional<ApiError> CheckOrigin(const HttpRequest& request) const;
  /// An error with status 401 if keys are set and the request has none of them.
  [[nodiscard]] std::optional<ApiError> CheckKey(const HttpRequest& request) const;
  /// The headers that a page of an allowed origin needs.
  [[nodiscard]] HttpHeaders CorsHeaders(const HttpRequest& request) const;

 private:
  [[nodiscard]] bool Allows(std::string_view origin) const;

  std::vector<std::string> keys_, origins_, hosts_;
  bool is_loopback_;
};

}  // namespace bittern::serve
