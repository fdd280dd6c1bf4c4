// SPDX-License-Identifier: Apache-2.0
#include "cli/shared/option_spelling.hpp"

#include <algorithm>

namespace bittern::cli {

/// One letter gets one dash.
std::vector<std::string> SpelledFlags(std::string_view names) {
  std::vector<std::string> flags;
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(','), names.size());
    flags.push_back((end == 1 ? "-" : "--") + std::string(names.substr(0, end)));
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return flags;
}

std::string UsualFlag(std::string_view names) {
  const auto flags = SpelledFlags(names);
  const auto is_long = [](const std::string& flag) { return flag.starts_with("--"); };
  const auto found = std::ranges::find_if(flags, is_long);
  return found == flags.end() ? "" : *found;
}

const request::SamplerOption* SamplerOptionOfFlag(std::string_view flag) {
  for (const request::SamplerOption& row : request::SamplerOptionTable()) {
    const auto flags = SpelledFlags(row.flags);
    if (std::ranges::find(flags, flag) != flags.end()) return &row;
  }
  return nullptr;
}

}  // namespace bittern::cli
