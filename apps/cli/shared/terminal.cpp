// SPDX-License-Identifier: Apache-2.0
// Errors and progress on stderr.
#include "cli/shared/terminal.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "base/os/console.hpp"
#include "base/os/environment.hpp"
#include "cli/shared/commands.hpp"
#include "cli/shared/wording.hpp"

namespace bittern::cli {
namespace {

bool quiet_by_flag = false;

}  // namespace

void SetQuiet(bool quiet) noexcept { quiet_by_flag = quiet; }

void PrintRemark(std::string_view text) noexcept {
  if (!quiet_by_flag) PrintError(text);
}

void PrintError(std::string_view text) noexcept {
  const bool whole = std::fwrite(text.data(), 1, text.size(), stderr) == text.size();
  if (std::fflush(stderr) != 0 || !whole) std::clearerr(stderr);
}

bool IsTerminal(std::FILE* stream) noexcept { return os::IsTerminal(stream); }

/// Follows no-color.org: NO_COLOR with any text in it means none.
bool UsesColour(std::FILE* stream) noexcept {
  const char* no_colour = os::Variable("NO_COLOR");
  return (no_colour == nullptr || *no_colour == '\0') && IsTerminal(stream);
}

void ProgressLine::Show(std::string_view text) {
  if (quiet_by_flag || !IsTerminal(stderr)) return;
  PrintError("\r\x1b[K{}", text);
  shown_ = true;
}

void ProgressLine::ShowIfSlow(std::string_view text) {
  if (std::chrono::steady_clock::now() - start_ > slow_) Show(text);
}

void ProgressLine::Clear() {
  if (shown_) PrintError("\r\x1b[K");
  shown_ = false;
}

int Report(const Error& error, int exit_code) {
  const bool colour = UsesColour(stderr);
  PrintError("{}error:{} {}\n", colour ? "\x1b[1;31m" : "", colour ? "\x1b[0m" : "",
             WordError(error));
  return exit_code;
}

int Report(const Error& error) {
  switch (error.code) {
    case ErrorCode::kInvalidArgument:
      return Report(error, kExitUsage);
    case ErrorCode::kNotFound:
    case ErrorCode::kIo:
    case ErrorCode::kCorruptFile:
    case ErrorCode::kUnsupported:
      return Report(error, kExitModel);
    case ErrorCode::kCancelled:
      return Report(error, kExitInterrupted);
    case ErrorCode::kOutOfMemory:
    case ErrorCode::kContextFull:
    case ErrorCode::kInternal:
      return Report(error, kExitRuntime);
  }
  return Report(error, kExitRuntime);
}

int ReportOutput(const Error& error, const std::string& output) {
  const bool about_output = error.code == ErrorCode::kIo && error.message.starts_with(output);
  return about_output ? Report(error, kExitRuntime) : Report(error);
}

}  // namespace bittern::cli
