// SPDX-License-Identifier: Apache-2.0
#include "cli/options/environment.hpp"

#include <cstdlib>
#include <filesystem>

namespace bittern::cli {

std::string IsaOfUser() {
  const char* name = std::getenv("BITTERN_ISA");
  return name == nullptr ? "" : name;
}

/// $XDG_CACHE_HOME, else ~/.cache, as the XDG base directory specification says; relative paths are
/// ignored. Without either, nothing is remembered.
runtime::LayoutCache LayoutCacheOfUser() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && cache[0] == '/') {
    return runtime::LayoutCache(std::filesystem::path(cache) / "bittern" / "layouts.json");
  }
  const char* home = std::getenv("HOME");
  if (home == nullptr || home[0] != '/') return runtime::LayoutCache({});
  return runtime::LayoutCache(std::filesystem::path(home) / ".cache" / "bittern" / "layouts.json");
}

}  // namespace bittern::cli
