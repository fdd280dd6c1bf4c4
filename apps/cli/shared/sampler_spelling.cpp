// SPDX-License-Identifier: Apache-2.0
#include "cli/shared/sampler_spelling.hpp"

#include <algorithm>

namespace bittern::cli {

/// The table has names without dashes, "temp,temperature"; one letter gets one dash.
std::vector<std::string> FlagsOf(const request::SamplerOption& option) {
  std::vector<std::string> flags;
  std::string_view rest = option.flags;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    flags.push_back((end == 1 ? "-" : "--") + std::string(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return flags;
}

std::string FlagOf(const request::SamplerOption& option) {
  const auto flags = FlagsOf(option);
  return *std::ranges::find_if(flags, [](const auto& flag) { return flag.starts_with("--"); });
}

const request::SamplerOption* SamplerOptionOfFlag(std::string_view flag) {
  for (const request::SamplerOption& row : request::SamplerOptionTable()) {
    const auto flags = FlagsOf(row);
    if (std::ranges::find(flags, flag) != flags.end()) return &row;
  }
  return nullptr;
}

}  // namespace bittern::cli
