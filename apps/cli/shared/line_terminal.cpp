// SPDX-License-Identifier: Apache-2.0
// The line is drawn anew after each key: up to its first row, everything below erased, all rows
// written. Of a text taller than the screen the rows around the cursor are shown.
#include "cli/shared/line_terminal.hpp"

#include <fmt/format.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "base/terminal_size.hpp"
#include "cli/shared/terminal.hpp"

namespace bittern::cli {
namespace {

termios original = {};
std::atomic<bool> taken{false};

/// Does nothing: its only effect is that read() returns EINTR, after which the line is drawn anew.
extern "C" void OnResize(int) {}

std::size_t TerminalRows() noexcept {
  const std::size_t rows = TerminalSizeOf(STDERR_FILENO).rows;
  return rows == 0 ? 24 : rows;
}

/// No echo and no lines; Ctrl-C is a key while a line is read, and a signal otherwise.
void SetMode(bool reads_line) noexcept {
  termios mode = original;
  mode.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | IEXTEN);
  if (reads_line) mode.c_lflag &= ~static_cast<tcflag_t>(ISIG);
  mode.c_iflag &= ~static_cast<tcflag_t>(ICRNL | INLCR | IXON);
  mode.c_cc[VMIN] = 1;
  mode.c_cc[VTIME] = 0;
  tcsetattr(STDIN_FILENO, TCSADRAIN, &mode);
}

}  // namespace

std::size_t TerminalColumns() noexcept {
  for (const int file : {STDOUT_FILENO, STDERR_FILENO}) {
    if (const TerminalSize size = TerminalSizeOf(file); size.columns != 0) return size.columns;
  }
  return 80;
}

void RestoreTerminal() noexcept {
  if (taken.exchange(false)) tcsetattr(STDIN_FILENO, TCSANOW, &original);
}

/// Saves the terminal's mode for RestoreTerminal, which also runs in signal handlers.
Result<void> LineTerminal::Begin() {
  if (tcgetattr(STDIN_FILENO, &original) != 0) {
    return Fail(ErrorCode::kIo, fmt::format("standard input: {}", std::strerror(errno)));
  }
  struct sigaction action = {};
  action.sa_handler = OnResize;  // without SA_RESTART: a read ends and the line is drawn anew
  sigemptyset(&action.sa_mask);
  sigaction(SIGWINCH, &action, nullptr);
  taken.store(true);
  SetMode(/*reads_line=*/false);
  return {};
}

LineTerminal::~LineTerminal() { RestoreTerminal(); }

/// Draws the line with one write, so that nothing flickers. `top_` is the first row shown of a text
/// taller than the screen.
void LineTerminal::Show(const std::string& prompt) {
  const std::size_t columns = TerminalColumns();
  const std::size_t height = std::max<std::size_t>(TerminalRows(), 2) - 1;
  std::string out;
  if (columns_ != 0) {
    // The cursor's row below the first visible one, also after rows were broken anew by a narrower
    // terminal.
    std::size_t up = 0;
    for (std::size_t row = top_; row < shown_.cursor_row; ++row) {
      const console::Screen width = console::LayOut("", shown_.rows[row], 0, columns);
      up += columns < columns_ ? width.rows.size() : 1;
    }
    if (columns < columns_) up += shown_.cursor_column / columns;
    if (up > 0) out += fmt::format("\x1b[{}A", up);
    out += "\r\x1b[J";
  }
  shown_ = console::LayOut(prompt, edit_.text(), edit_.cursor(), columns);
  columns_ = columns;
  const std::size_t rows = shown_.rows.size();
  if (shown_.cursor_row < top_) top_ = shown_.cursor_row;
  if (shown_.cursor_row >= top_ + height) top_ = shown_.cursor_row - height + 1;
  top_ = std::min(top_, rows > height ? rows - height : 0);
  const std::size_t end = std::min(rows, top_ + height);
  for (std::size_t row = top_; row < end; ++row) {
    if (row > top_) out += "\r\n";
    out += shown_.rows[row];
  }
  if (end - 1 > shown_.cursor_row) out += fmt::format("\x1b[{}A", end - 1 - shown_.cursor_row);
  out += '\r';
  if (shown_.cursor_column > 0) out += fmt::format("\x1b[{}C", shown_.cursor_column);
  PrintError(std::string_view(out));
}

/// Goes below the line, so that what comes next does not write over it.
void LineTerminal::Leave() {
  const std::size_t height = std::max<std::size_t>(TerminalRows(), 2) - 1;
  const std::size_t last = std::min(shown_.rows.size(), top_ + height) - 1;
  std::string out;
  if (last > shown_.cursor_row) out += fmt::format("\x1b[{}B", last - shown_.cursor_row);
  PrintError(std::string_view(out + "\r\n\x1b[?2004l"));
  columns_ = top_ = 0;
  SetMode(/*reads_line=*/false);
}

/// Reads keys until the line ends. "\x1b[?2004h" asks the terminal to mark pasted texts, whose
/// newlines then do not end the line.
Result<LineTerminal::Outcome> LineTerminal::Read(const std::string& prompt, std::string* line,
                                                 std::string_view text) {
  if (!text.empty()) edit_.SetText(text);
  SetMode(/*reads_line=*/true);
  PrintError("\x1b[?2004h");
  columns_ = top_ = 0;
  Show(prompt);
  std::string bytes;
  for (;;) {
    const console::LineEdit::Event event = edit_.Feed(bytes);
    bytes.clear();
    if (event == console::LineEdit::Event::kClearScreen) {
      PrintError("\x1b[H\x1b[2J");
      columns_ = top_ = 0;
    }
    Show(prompt);
    if (event == console::LineEdit::Event::kClearScreen) continue;
    if (event != console::LineEdit::Event::kNone) {
      Leave();
      *line = event == console::LineEdit::Event::kSubmit ? edit_.Take() : edit_.text();
      edit_.Clear();
      return event == console::LineEdit::Event::kSubmit ? Outcome::kLine
             : event == console::LineEdit::Event::kEnd  ? Outcome::kEnd
                                                        : Outcome::kInterrupt;
    }
    char buffer[4096];
    const ssize_t size = read(STDIN_FILENO, buffer, sizeof buffer);
    if (size > 0) {
      bytes.assign(buffer, static_cast<std::size_t>(size));
    } else if (size == 0) {
      Leave();
      return Outcome::kEnd;
    } else if (errno != EINTR) {
      const int error = errno;
      Leave();
      return Fail(ErrorCode::kIo,
                  fmt::format("standard input: cannot read: {}", std::strerror(error)));
    }
  }
}

}  // namespace bittern::cli
