// SPDX-License-Identifier: Apache-2.0
#include "serve/core/models_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace bittern::serve {

/// A folder with config.json (Hugging Face's form) is one model: nothing below it is searched. A
/// file that cannot be measured is left out.
Result<std::vector<ModelFile>> FindModels(const std::string& folder, std::uint64_t more_bytes) {
  namespace fs = std::filesystem;
  constexpr int kDeepest = 3;
  constexpr std::size_t kMost = 4096;
  const fs::path root = folder;
  std::vector<ModelFile> found;
  std::error_code error;
  fs::recursive_directory_iterator it(root, fs::directory_options::skip_permission_denied, error);
  for (const fs::recursive_directory_iterator end; !error && it != end; it.increment(error)) {
    std::error_code here;
    const bool is_folder = it->is_directory(here);
    if (is_folder && it.depth() >= kDeepest) it.disable_recursion_pending();
    const bool is_hf = is_folder && fs::exists(it->path() / "config.json", here);
    if (!is_hf && (is_folder || it->path().extension() != ".gguf")) continue;
    fs::path name = it->path().lexically_relative(root);
    if (!is_hf) name.replace_extension();
    std::uintmax_t bytes = is_hf ? 0 : fs::file_size(it->path(), here);
    if (is_hf) {
      it.disable_recursion_pending();
      for (const auto& part : fs::directory_iterator(it->path(), here)) {
        if (part.is_regular_file(here)) bytes += part.file_size(here);
      }
    }
    if (here) continue;
    found.push_back({name.generic_string(), it->path().string(), bytes + more_bytes});
    if (found.size() >= kMost) break;
  }
  if (error) {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("{}: {}", folder, error.message()));
  }
  if (found.empty()) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: models (*.gguf, or folders with config.json) expected, none found",
                            folder));
  }
  std::ranges::sort(found, {}, &ModelFile::name);
  return found;
}

}  // namespace bittern::serve
