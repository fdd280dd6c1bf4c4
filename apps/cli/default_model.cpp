// SPDX-License-Identifier: Apache-2.0
// Looks upwards from the executable, so that an unpacked archive and a build tree both work from
// any working directory.
#include "cli/default_model.hpp"

#include <cstdlib>
#include <filesystem>

namespace bittern::cli {

std::string DefaultModelPath() {
  const char* named = std::getenv("BITTERN_MODEL");
  if (named != nullptr && *named != '\0') return named;
  const std::filesystem::path file = std::filesystem::path("models") / "kjv-5m-i2s.gguf";
  std::error_code ignored;
  const auto executable = std::filesystem::read_symlink("/proc/self/exe", ignored);
  for (auto folder = executable.parent_path(); folder.has_relative_path();
       folder = folder.parent_path()) {
    if (std::filesystem::exists(folder / file, ignored)) return (folder / file).string();
  }
  return (std::filesystem::path(BITTERN_SOURCE_DIR) / file).string();
}

}  // namespace bittern::cli
