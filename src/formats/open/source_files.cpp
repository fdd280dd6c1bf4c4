// SPDX-License-Identifier: Apache-2.0
#include "formats/open/source_files.hpp"

#include <algorithm>
#include <vector>

#include "formats/gguf/gguf_split.hpp"

namespace bittern::formats {
namespace {

namespace fs = std::filesystem;

/// The source's path; those of all parts where it was split.
std::vector<fs::path> SourceFiles(const Checkpoint& source) {
  const auto split = ReadSplitPart(source.metadata());
  if (!split || !*split) return {source.path()};
  return SplitPartPaths(source.path(), **split).value_or(std::vector<fs::path>{source.path()});
}

/// Shards, configuration and tokenizer of a Hugging Face model have many names, and may be links;
/// GGUF files that were put beside them are none of them.
bool InSourceFolder(const Checkpoint& source, const fs::path& out) {
  std::error_code error;
  const fs::path path = source.path();
  const bool is_folder = fs::is_directory(path, error);
  if (!is_folder && path.extension() != ".safetensors") return false;
  const fs::path folder = is_folder ? path : fs::absolute(path).parent_path();
  return std::any_of(
      fs::directory_iterator(folder, error), fs::directory_iterator(), [&](const auto& entry) {
        return entry.path().extension() != ".gguf" && fs::equivalent(out, entry.path(), error);
      });
}

}  // namespace

/// Files are compared by identity, not by name, so that links and other spellings do not fool it.
Result<void> CheckNotSource(const Checkpoint& source, const fs::path& out) {
  std::error_code ignored;
  if (!fs::exists(out, ignored)) return {};
  const bool is_source = InSourceFolder(source, out) ||
                         std::ranges::any_of(SourceFiles(source), [&](const fs::path& file) {
                           return fs::equivalent(out, file, ignored);
                         });
  if (!is_source) return {};
  return Fail(ErrorCode::kInvalidArgument,
              out.string() + " is both input and output; choose another name");
}

}  // namespace bittern::formats
