// SPDX-License-Identifier: Apache-2.0
// Output for people: colour only where it is seen, and a line of progress that removes itself.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <string_view>
#include <utility>

namespace bittern::cli {

/// Writes to standard error. Where that cannot be written (closed, full disk) what is said is lost
/// and the program goes on: fmt::print would throw.
void PrintError(std::string_view text) noexcept;
template <class... Args>
void PrintError(fmt::format_string<Args...> format, Args&&... args) {
  PrintError(std::string_view(fmt::format(format, std::forward<Args>(args)...)));
}

/// --quiet: from now on PrintRemark and ProgressLine show nothing. Main thread, before other
/// threads.
void SetQuiet(bool quiet) noexcept;

/// PrintError of what a person may do without: decisions, notices, timings. Nothing after
/// SetQuiet(true); errors, answers to a person's commands and addresses of servers are no remarks.
void PrintRemark(std::string_view text) noexcept;
template <class... Args>
void PrintRemark(fmt::format_string<Args...> format, Args&&... args) {
  PrintRemark(std::string_view(fmt::format(format, std::forward<Args>(args)...)));
}

/// True if `stream` is a terminal.
[[nodiscard]] bool IsTerminal(std::FILE* stream) noexcept;

/// True if `stream` is a terminal and NO_COLOR (no-color.org) is unset or empty.
[[nodiscard]] bool UsesColour(std::FILE* stream) noexcept;

/// One line on stderr that later text replaces; nothing at all if stderr is not a terminal.
class ProgressLine {
 public:
  /// `slow`: what takes longer is worth a line.
  explicit ProgressLine(std::chrono::milliseconds slow = std::chrono::seconds(1))
      : start_(std::chrono::steady_clock::now()), slow_(slow) {}
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() { Clear(); }

  void Show(std::string_view text);
  /// The same, but nothing until it is slow: most things are done by then.
  void ShowIfSlow(std::string_view text);
  void Clear();

 private:
  std::chrono::steady_clock::time_point start_;
  std::chrono::milliseconds slow_;
  bool shown_ = false;
};

}  // namespace bittern::cli
