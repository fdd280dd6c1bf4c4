// SPDX-License-Identifier: Apache-2.0
#include "serve/core/models_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/files/resolved_below.hpp"

namespace bittern::serve {

namespace {

namespace fs = std::filesystem;

/// The bytes of a model's files; nothing if one of them cannot be measured, or a link leads out of
/// `root`.
std::optional<std::uintmax_t> BytesBelow(const fs::path& root, const fs::path& model,
                                         bool is_folder) {
  std::error_code error;
  if (!ResolvedBelow(root, model)) return std::nullopt;
  if (!is_folder) {
    const std::uintmax_t bytes = fs::file_size(model, error);
    return error ? std::nullopt : std::optional(bytes);
  }
  std::uintmax_t bytes = 0;
  for (const auto& part : fs::directory_iterator(model, error)) {
    if (!ResolvedBelow(root, part.path())) return std::nullopt;
    if (part.is_regular_file(error)) bytes += part.file_size(error);
  }
  return error ? std::nullopt : std::optional(bytes);
}

}  // namespace

/// A folder with config.json (Hugging Face's form) is one model: nothing below it is searched. A
/// file that cannot be measured is left out.
Result<std::vector<ModelFile>> FindModels(const std::string& folder, std::uint64_t more_bytes) {
  constexpr int kDeepest = 3;
  constexpr std::size_t kMost = 4096;
  std::vector<ModelFile> found;
  std::error_code error;
  const fs::path root = fs::canonical(folder, error);
  fs::recursive_directory_iterator it;
  if (!error) it = {root, fs::directory_options::skip_permission_denied, error};
  for (const fs::recursive_directory_iterator end; !error && it != end; it.increment(error)) {
    std::error_code here;
    const bool is_folder = it->is_directory(here);
    if (is_folder && it.depth() >= kDeepest) it.disable_recursion_pending();
    const bool is_hf = is_folder && fs::exists(it->path() / "config.json", here);
    if (!is_hf && (is_folder || it->path().extension() != ".gguf")) continue;
    fs::path name = it->path().lexically_relative(root);
    if (!is_hf) name.replace_extension();
    if (is_hf) it.disable_recursion_pending();
    const auto bytes = BytesBelow(root, it->path(), is_hf);
    if (!bytes) continue;
    found.push_back({name.generic_string(), it->path().string(), *bytes + more_bytes});
    if (found.size() >= kMost) break;
  }
  if (error) {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("{}: {}", folder, error.message()));
  }
  std::ranges::sort(found, {}, &ModelFile::name);
  return found;
}

}  // namespace bittern::serve
