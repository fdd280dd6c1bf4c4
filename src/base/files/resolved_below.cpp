// SPDX-License-Identifier: Apache-2.0
#include "base/files/resolved_below.hpp"

#include <string>

namespace bittern {

std::optional<std::filesystem::path> ResolvedBelow(const std::filesystem::path& root,
                                                   const std::filesystem::path& place) {
  std::error_code error;
  std::filesystem::path found = std::filesystem::canonical(place, error);
  if (error) return std::nullopt;
  const std::string front = root == "/" ? "/" : root.string() + "/";
  if (!found.string().starts_with(front)) return std::nullopt;
  return found;
}

}  // namespace bittern
