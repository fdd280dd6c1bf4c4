// SPDX-License-Identifier: Apache-2.0
#include "base/files/resolved_below.hpp"

namespace bittern {

std::optional<std::filesystem::path> ResolvedBelow(const std::filesystem::path& root,
                                                   const std::filesystem::path& place) {
  std::error_code error;
  std::filesystem::path found = std::filesystem::canonical(place, error);
  if (error) return std::nullopt;
  const std::filesystem::path below = found.lexically_relative(root);
  if (below.empty() || below == "." || *below.begin() == "..") return std::nullopt;
  return found;
}

}  // namespace bittern
