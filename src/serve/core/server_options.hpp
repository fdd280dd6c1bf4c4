// SPDX-License-Identifier: Apache-2.0
// Options of a server, beside its models.
#pragma once

#include <string>
#include <vector>

#include "serve/http/http_server.hpp"

namespace bittern::serve {

struct ServerOptions {
  HttpServerOptions http = {};
  std::vector<std::string> api_keys = {};  ///< none: everything is open
  /// Pages of other origins that may call; "*": all of them. The server's own page always may.
  std::vector<std::string> cors_origins = {};
  /// Further names by which clients may call a server on a loopback address.
  std::vector<std::string> host_names = {};
  bool metrics = false, slots = true;
  bool page = true;         ///< the web page at /
  std::string folder = {};  ///< its files are served in place of the page
};

}  // namespace bittern::serve
