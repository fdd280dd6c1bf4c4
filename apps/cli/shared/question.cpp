// SPDX-License-Identifier: Apache-2.0
#include "cli/shared/question.hpp"

#include <cstdio>
#include <string>

#include "base/os/console.hpp"
#include "cli/shared/terminal.hpp"

namespace bittern::cli {

bool CanAsk() noexcept { return IsTerminal(stdin) && IsTerminal(stderr); }

/// Reads byte by byte: the lines that follow belong to the command.
bool Ask(std::string_view question) {
  PrintError("{} [y/N] ", question);
  std::string answer;
  int byte = 0;
  while ((byte = os::ReadInputByte()) >= 0 && byte != '\n') {
    char c = static_cast<char>(byte);
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c != ' ' && c != '\r' && answer.size() < 8) answer += c;
  }
  if (byte < 0) PrintError("\n");
  return answer == "y" || answer == "yes";
}

}  // namespace bittern::cli
