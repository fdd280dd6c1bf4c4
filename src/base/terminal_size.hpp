// SPDX-License-Identifier: Apache-2.0
// How large the terminal behind a file descriptor is.
#pragma once

#include <cstddef>

namespace bittern {

struct TerminalSize {
  std::size_t columns = 0, rows = 0;  ///< 0: not known
};

/// Zeros if `file` is no terminal.
[[nodiscard]] TerminalSize TerminalSizeOf(int file) noexcept;

}  // namespace bittern
