// SPDX-License-Identifier: Apache-2.0
// Which reader a file goes to, and the refusals that need no reader.
#include <fmt/format.h>

#include <functional>
#include <optional>
#include <system_error>
#include <utility>

#include "base/text/display.hpp"
#include "formats/checkpoint.hpp"
#include "formats/file_kind.hpp"
#include "formats/gguf/gguf_reader.hpp"
#include "formats/gguf/gguf_split.hpp"
#include "formats/hf/hf_folder.hpp"
#include "formats/safetensors/safetensors_reader.hpp"

namespace bittern::formats {
/// Fills a Checkpoint; the only place that may.
class CheckpointBuilder {
 public:
  /// The file at `path`, and the other parts if it is the first of a split model.
  static Result<Checkpoint> FromGguf(MappedFile file, const std::filesystem::path& path) {
    auto parsed = ParseGguf(file.bytes());
    BITTERN_TRY(file.CheckUnchanged());
    GgufContents contents = BITTERN_TRY(std::move(parsed));
    const auto split = BITTERN_TRY(ReadSplitPart(contents.metadata));
    std::vector<MappedFile> files;
    files.push_back(std::move(file));
    if (split) BITTERN_TRY(OpenOtherParts(path, *split, &files, &contents.tensors));
    Checkpoint checkpoint = FromContents(std::move(contents), path.string());
    if (split) checkpoint.kind_ += fmt::format(" in {} files", files.size());
    checkpoint.files_ = std::move(files);
    return checkpoint;
  }

  /// A model in memory. It has no file name, so parts of a split model could not be found.
  static Result<Checkpoint> FromGgufBytes(std::span<const std::byte> bytes, std::string path) {
    GgufContents contents = BITTERN_TRY(ParseGguf(bytes));
    if (BITTERN_TRY(ReadSplitPart(contents.metadata))) {
      return Fail(ErrorCode::kUnsupported, "a part of a split model; the whole one expected");
    }
    Checkpoint checkpoint = FromContents(std::move(contents), std::move(path));
    checkpoint.memory_ = bytes;
    return checkpoint;
  }

  /// Moves a folder's contents in. The tensors view into `files_`, which move along.
  static Checkpoint FromHfFolder(HfFolderContents contents, std::string path) {
    Checkpoint checkpoint;
    checkpoint.files_ = std::move(contents.files);
    checkpoint.path_ = std::move(path);
    checkpoint.kind_ = "Hugging Face folder";
    checkpoint.data_start_ = contents.data_start;
    checkpoint.metadata_ = std::move(contents.metadata);
    checkpoint.decisions_ = std::move(contents.decisions);
    checkpoint.replaced_ = std::move(contents.memory);
    checkpoint.SetTensors(std::move(contents.tensors));
    return checkpoint;
  }

 private:
  static Checkpoint FromContents(GgufContents contents, std::string path) {
    Checkpoint checkpoint;
    checkpoint.path_ = std::move(path);
    checkpoint.kind_ = fmt::format("GGUF v{}", contents.version);
    checkpoint.data_start_ = contents.data_start;
    checkpoint.metadata_ = std::move(contents.metadata);
    checkpoint.SetTensors(std::move(contents.tensors));
    return checkpoint;
  }

  /// Opens parts 2 and on, and adds their tensors. Keys of these parts are ignored,
  /// except the split's own.
  static Result<void> OpenOtherParts(const std::filesystem::path& path, const SplitPart& split,
                                     std::vector<MappedFile>* files, std::vector<Tensor>* tensors) {
    const auto paths = BITTERN_TRY(SplitPartPaths(path, split));
    for (std::size_t i = 1; i < paths.size(); ++i) {
      auto file = MappedFile::Open(paths[i]);
      if (!file) {
        return tl::unexpected(
            Within(fmt::format("part {} of {}", i + 1, paths.size()), std::move(file).error()));
      }
      auto contents = ParseGguf(file->bytes());
      BITTERN_TRY(file->CheckUnchanged());
      auto appended = contents ? AppendSplitPart(*std::move(contents), i, split, tensors)
                               : tl::unexpected(std::move(contents).error());
      if (!appended) return tl::unexpected(Within(paths[i].string(), std::move(appended).error()));
      files->push_back(*std::move(file));
    }
    return CheckSplitComplete(split, tensors->size());
  }
};

namespace {

/// Opens a Hugging Face folder, and the named weight file of it where a user gave one.
Result<Checkpoint> OpenFolder(const std::filesystem::path& folder,
                              const std::optional<std::filesystem::path>& file,
                              const std::string& shown) {
  auto contents = OpenHfFolder(folder, file);
  if (contents) return CheckpointBuilder::FromHfFolder(*std::move(contents), shown);
  Error error = std::move(contents).error();
  // Errors of opening a file begin with its whole path already.
  const bool has_path = !folder.empty() && error.message.starts_with(folder.string());
  if (has_path) return tl::unexpected(std::move(error));
  return tl::unexpected(Within(shown, std::move(error)));
}

}  // namespace

/// A .safetensors file beside a config.json means its folder. CheckUnchanged comes before a
/// refusal: a file that is still being written looks damaged.
Result<Checkpoint> Checkpoint::Open(const std::filesystem::path& path) {
  const std::string shown = path.string();
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    if (LooksLikeHfFolder(path)) return OpenFolder(path, std::nullopt, shown);
    return tl::unexpected(Within(shown, RefuseFolder(path)));
  }
  MappedFile file = BITTERN_TRY(MappedFile::Open(path));
  if (LooksLikeSafetensors(file.bytes()) && LooksLikeHfFolder(path.parent_path())) {
    return OpenFolder(path.parent_path(), path, shown);
  }
  if (!LooksLikeGguf(file.bytes())) {
    auto refusal = RefuseFile(file.bytes());
    BITTERN_TRY(file.CheckUnchanged());
    return tl::unexpected(Within(shown, std::move(refusal)));
  }
  auto checkpoint = CheckpointBuilder::FromGguf(std::move(file), path);
  if (checkpoint || checkpoint.error().message.starts_with(shown + ": ")) return checkpoint;
  return tl::unexpected(Within(shown, std::move(checkpoint).error()));
}

Result<Checkpoint> Checkpoint::OpenBytes(std::span<const std::byte> bytes, std::string name) {
  if (!LooksLikeGguf(bytes)) return tl::unexpected(Within(name, RefuseFile(bytes)));
  auto checkpoint = CheckpointBuilder::FromGgufBytes(bytes, name);
  if (!checkpoint) return tl::unexpected(Within(name, std::move(checkpoint).error()));
  return checkpoint;
}

}  // namespace bittern::formats
