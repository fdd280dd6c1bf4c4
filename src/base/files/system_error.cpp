// SPDX-License-Identifier: Apache-2.0
#include "base/files/system_error.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include "base/os/file.hpp"

namespace bittern {

Error SystemError(const std::filesystem::path& path, std::string_view action, int code) {
  std::string message =
      fmt::format("{}: cannot {}: {}", path.string(), action, std::strerror(code));
  if (os::IsDiskFull(code)) {
    std::error_code ignored;
    const auto parent = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
    const auto space = std::filesystem::space(parent, ignored);
    if (!ignored) {
      message += fmt::format(" ({:.1f} MB are free there)", double(space.available) / 1e6);
    }
  }
  if (code == EFBIG) message += " (see `ulimit -f`: the limit on the size of files)";
  return {ErrorCode::kIo, std::move(message)};
}

}  // namespace bittern
