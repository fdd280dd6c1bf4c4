// SPDX-License-Identifier: Apache-2.0
// A line read at a terminal, with editing, history and bracketed paste (line_edit.hpp). Between
// lines keys are neither shown nor read: what is typed during an answer waits for the next line.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "console/line_edit.hpp"

namespace bittern::cli {

/// One at a time, for standard input and standard error, which must be terminals.
class LineTerminal {
 public:
  /// Takes the terminal; error kIo.
  [[nodiscard]] static Result<void> Begin();
  LineTerminal() = default;
  LineTerminal(const LineTerminal&) = delete;
  LineTerminal& operator=(const LineTerminal&) = delete;
  ~LineTerminal();

  /// Lines of earlier sessions, which Up brings back.
  void SetHistory(std::vector<std::string> lines) { edit_.SetHistory(std::move(lines)); }

  /// How a reading ended.
  enum class Outcome { kLine, kEnd, kInterrupt };

  /// Shows `prompt` (ASCII) and reads a line of any length into *line, beginning with `text` where
  /// that is not empty. With kInterrupt (Ctrl-C) *line is what had been typed. Error kIo.
  [[nodiscard]] Result<Outcome> Read(const std::string& prompt, std::string* line,
                                     std::string_view text = {});

 private:
  void Show(const std::string& prompt);
  void Leave();

  console::LineEdit edit_;
  console::Screen shown_ = {};
  std::size_t columns_ = 0;  ///< of the terminal when shown_ was shown
  std::size_t top_ = 0;      ///< first row of shown_ that is visible
};

/// Columns of the terminal at standard output, else of standard error; 80 if neither says.
[[nodiscard]] std::size_t TerminalColumns() noexcept;

/// The terminal as it was before LineTerminal::Begin(); safe in signal handlers.
void RestoreTerminal() noexcept;

}  // namespace bittern::cli
