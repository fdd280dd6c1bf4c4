// SPDX-License-Identifier: Apache-2.0
// Standard streams and the terminal behind them. A terminal takes UTF-8 and the escape sequences of
// a VT100 on every system after PrepareConsole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>

namespace bittern::os {

/// Streams carry bytes as they are (no line ends are translated), and a terminal understands UTF-8
/// and escape sequences. Called first in main; what it changes is put back at the end.
void PrepareConsole() noexcept;

[[nodiscard]] bool IsTerminal(std::FILE* stream) noexcept;

struct TerminalSize {
  std::size_t columns = 0, rows = 0;  ///< 0: not known
};
/// Zeros if the stream is no terminal.
[[nodiscard]] TerminalSize TerminalSizeOf(std::FILE* stream) noexcept;

/// One byte of standard input without buffering, so that what follows is left for others; -1 at its
/// end.
[[nodiscard]] int ReadInputByte() noexcept;

/// A terminal whose keys are read one by one. One thread, but for Restore.
class RawKeys {
 public:
  /// Saves the terminal's mode for Restore. A change of its size ends Read. 0, or -1 and errno:
  /// standard input is no terminal, or one
  /// without escape sequences.
  [[nodiscard]] static int Begin() noexcept;
  /// No echo and no lines. Ctrl-C is a key with `reads_line`, and ends or interrupts the program
  /// otherwise.
  static void SetMode(bool reads_line) noexcept;
  /// Waits for keys and fills `bytes` with what a VT100 sends for them, in UTF-8. Returns their
  /// count; 0 at the end of the input; -1 and errno. EINTR: a signal came, or the size changed.
  [[nodiscard]] static std::int64_t Read(std::span<char> bytes) noexcept;
  /// Puts the mode back that Begin found; nothing without Begin. Safe in handlers of signals.
  static void Restore() noexcept;
};

}  // namespace bittern::os
