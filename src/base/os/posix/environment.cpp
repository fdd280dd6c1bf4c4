// SPDX-License-Identifier: Apache-2.0
#include "base/os/environment.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

extern char** environ;

namespace bittern::os {

const char* Variable(const char* name) { return std::getenv(name); }

std::vector<std::string> AllVariables() {
  std::vector<std::string> all;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    all.emplace_back(*entry);
  }
  return all;
}

std::vector<std::string> CommandLine(int count, char** words) {
  return {words + std::min(count, 1), words + count};
}

}  // namespace bittern::os
