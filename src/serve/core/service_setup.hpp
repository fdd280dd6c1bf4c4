// SPDX-License-Identifier: Apache-2.0
// Parts of a server's options that files give: keys of clients, and the name of a model. Any
// thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace bittern::serve {

/// Keys that clients must send, one a line; lines that begin with "#" are comments. Error
/// kInvalidArgument: the file cannot be read, or holds none.
[[nodiscard]] Result<std::vector<std::string>> ReadKeyFile(const std::string& path);

/// The name under which answers tell a model: its file's or folder's, without ".gguf".
[[nodiscard]] std::string NameOfModelFile(const std::string& path);

}  // namespace bittern::serve
