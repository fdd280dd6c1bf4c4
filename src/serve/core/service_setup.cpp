// SPDX-License-Identifier: Apache-2.0
#include "serve/core/service_setup.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

namespace bittern::serve {

/// Blank lines and those that begin with "#" are no keys, and "\r" of Windows' line ends is no part
/// of one.
Result<std::vector<std::string>> ReadKeyFile(const std::string& path) {
  std::ifstream file{std::filesystem::path(path)};
  if (!file) return Fail(ErrorCode::kInvalidArgument, fmt::format("{}: cannot be read", path));
  std::vector<std::string> keys;
  for (std::string line; std::getline(file, line);) {
    if (line.ends_with('\r')) line.pop_back();
    const std::size_t first = line.find_first_not_of(" \t");
    if (first != std::string::npos && line[first] != '#') keys.push_back(line);
  }
  if (!keys.empty()) return keys;
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("{}: a key a line expected, none found", path));
}

std::string NameOfModelFile(const std::string& path) {
  const std::filesystem::path name(path);
  return name.extension() == ".gguf" ? name.stem().string() : name.filename().string();
}

}  // namespace bittern::serve
