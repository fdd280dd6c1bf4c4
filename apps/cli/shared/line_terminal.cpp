// SPDX-License-Identifier: Apache-2.0
// The line is drawn anew after each key: up to its first row, everything below erased, all rows
// written. Of a text taller than the screen the rows around the cursor are shown.
#include "cli/shared/line_terminal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/os/console.hpp"
#include "cli/shared/terminal.hpp"

namespace bittern::cli {
namespace {

std::size_t TerminalRows() noexcept {
  const std::size_t rows = os::TerminalSizeOf(stderr).rows;
  return rows == 0 ? 24 : rows;
}

}  // namespace

std::size_t TerminalColumns() noexcept {
  for (std::FILE* stream : {stdout, stderr}) {
    const os::TerminalSize size = os::TerminalSizeOf(stream);
    if (size.columns != 0) return size.columns;
  }
  return 80;
}

void RestoreTerminal() noexcept { os::RawKeys::Restore(); }

Result<void> LineTerminal::Begin() {
  if (os::RawKeys::Begin() != 0) {
    return Fail(ErrorCode::kIo, fmt::format("standard input: {}", std::strerror(errno)));
  }
  os::RawKeys::SetMode(/*reads_line=*/false);
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
  const bool bold = UsesColour(stderr);  // a question beside its answer
  if (bold) out += "\x1b[1m";
  for (std::size_t row = top_; row < end; ++row) {
    if (row > top_) out += "\r\n";
    out += shown_.rows[row];
  }
  if (bold) out += "\x1b[0m";
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
  os::RawKeys::SetMode(/*reads_line=*/false);
}

/// Reads keys until the line ends. "\x1b[?2004h" asks the terminal to mark pasted texts, whose
/// newlines then do not end the line.
Result<LineTerminal::Outcome> LineTerminal::Read(const std::string& prompt, std::string* line,
                                                 std::string_view text) {
  if (!text.empty()) edit_.SetText(text);
  os::RawKeys::SetMode(/*reads_line=*/true);
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
    const std::int64_t size = os::RawKeys::Read(buffer);
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
