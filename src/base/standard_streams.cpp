// SPDX-License-Identifier: Apache-2.0
#include "base/standard_streams.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace bittern {

void OccupyStandardStreams() noexcept {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    const bool is_closed = fcntl(fd, F_GETFD) == -1;
    // The lowest free descriptor is taken, which is this one.
    if (is_closed && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd) return;
  }
}

}  // namespace bittern
