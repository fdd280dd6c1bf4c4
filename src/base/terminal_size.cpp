// SPDX-License-Identifier: Apache-2.0
#include "base/terminal_size.hpp"

#include <sys/ioctl.h>

namespace bittern {

TerminalSize TerminalSizeOf(int file) noexcept {
  winsize size = {};
  if (ioctl(file, TIOCGWINSZ, &size) != 0) return {};
  return {size.ws_col, size.ws_row};
}

}  // namespace bittern
