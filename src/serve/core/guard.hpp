// SPDX-License-Identifier: Apache-2.0
// Who may call: keys, and on loopback addresses the names and origins by which a browser may come.
// A page of a stranger that a user looks at must not reach a server on the same machine, neither by
// its address (Origin) nor by a name that was bent to it (Host). Immutable; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serve/http/http_server.hpp"

namespace bittern::serve {

struct ServerOptions;

class Guard {
 public:
  explicit Guard(const ServerOptions& options);

  /// An answer with status 403 if the request must not be served.
  [[nodiscard]] std::optional<HttpReply> CheckOrigin(const HttpRequest& request) const;
  /// An answer with status 401 if a key is wanted and none of ours is given.
  [[nodiscard]] std::optional<HttpReply> CheckKey(const HttpRequest& request) const;
  /// What a page of an origin that may call needs.
  [[nodiscard]] HttpHeaders CorsHeaders(const HttpRequest& request) const;

 private:
  [[nodiscard]] bool Allows(std::string_view origin) const;

  std::vector<std::string> keys_, origins_, hosts_;
  bool is_loopback_;
};

}  // namespace bittern::serve
