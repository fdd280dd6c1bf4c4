// SPDX-License-Identifier: Apache-2.0
#include "cli/shared/question.hpp"

#include <unistd.h>

#include <cstdio>
#include <string>

#include "cli/shared/terminal.hpp"

namespace bittern::cli {

bool CanAsk() noexcept { return IsTerminal(stdin) && IsTerminal(stderr); }

/// Reads byte by byte: the lines that follow belong to the command.
bool Ask(std::string_view question) {
  PrintError("{} [y/N] ", question);
  std::string answer;
  char c = 0;
  ssize_t count = 0;
  while ((count = read(STDIN_FILENO, &c, 1)) == 1 && c != '\n') {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c != ' ' && c != '\r' && answer.size() < 8) answer += c;
  }
  if (count != 1) PrintError("\n");
  return answer == "y" || answer == "yes";
}

}  // namespace bittern::cli
