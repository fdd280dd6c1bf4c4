// SPDX-License-Identifier: Apache-2.0
#include "cli/shared/output.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace bittern::cli {

/// Flushes after each text, so that a reply is seen as it is made. After an error nothing more is
/// written.
bool StandardOutput::Write(std::string_view text) {
  if (errno_ != 0) return false;
  errno = 0;
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!written || std::fflush(stdout) != 0) errno_ = errno == 0 ? EIO : errno;
  return errno_ == 0;
}

/// EPIPE is no error: the reader, such as `head`, has seen enough.
Result<void> StandardOutput::Status() const {
  if (errno_ == 0 || errno_ == EPIPE) return {};
  return Fail(ErrorCode::kIo,
              fmt::format("cannot write to standard output: {}", std::strerror(errno_)));
}

}  // namespace bittern::cli
