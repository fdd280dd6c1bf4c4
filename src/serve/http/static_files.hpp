// SPDX-License-Identifier: Apache-2.0
// Files of one folder over HTTP: what lies outside, what is hidden and what is no plain file is not
// there. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "serve/http/http_server.hpp"

namespace bittern::serve {

class StaticFiles {
 public:
  /// Error kInvalidArgument: no such folder.
  [[nodiscard]] static Result<StaticFiles> Open(const std::string& folder);

  /// The file at the path of a GET request, index.html for a folder. 404: there is none; 413: it is
  /// too long; 304: the client has it (`known`: its If-None-Match). Reads the file.
  [[nodiscard]] HttpReply Reply(std::string_view path, std::string_view known) const;

 private:
  explicit StaticFiles(std::string root) : root_(std::move(root)) {}

  std::string root_;  // without symbolic links
};

}  // namespace bittern::serve
