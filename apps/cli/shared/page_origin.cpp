// SPDX-License-Identifier: Apache-2.0
#include "cli/shared/page_origin.hpp"

#include <fmt/format.h>

#include <ctime>
#include <filesystem>

#include "base/calendar.hpp"
#include "cli/shared/wording.hpp"

namespace bittern::cli {
namespace {

std::string* CommandText() {
  static auto* const text = new std::string("bittern");
  return text;
}

/// A word as a shell reads it.
std::string ShellWord(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+.,:/@%";
  const bool plain = !word.empty() && word.find_first_not_of(kPlain) == std::string::npos;
  return plain ? word : ShellQuoted(word);
}

/// "2026-11-26 09:05 UTC".
std::string DateText(const std::tm& time) {
  return fmt::format("{}-{:02}-{:02} {:02}:{:02} UTC", 1900 + time.tm_year, 1 + time.tm_mon,
                     time.tm_mday, time.tm_hour, time.tm_min);
}

}  // namespace

void NoteCommand(std::span<const std::string> words) {
  std::string text = "bittern";
  for (const std::string& word : words) {
    const std::filesystem::path path(word);
    const bool below_root = path.is_absolute() && path.has_filename();
    text += " " + ShellWord(below_root ? path.filename().string() : word);
  }
  *CommandText() = text;
}

Json PageOrigin() {
  const auto now = UtcTime(std::time(nullptr));
  return {{"program", "bittern " BITTERN_VERSION},
          {"commit", kCommit},
          {"date", now ? DateText(*now) : ""},
          {"command", *CommandText()}};
}

}  // namespace bittern::cli
