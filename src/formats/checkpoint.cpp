// SPDX-License-Identifier: Apache-2.0
// Which reader a file goes to, and the refusals that need no reader.
#include "formats/checkpoint.hpp"

#include <fmt/format.h>

#include <functional>
#include <optional>
#include <system_error>
#include <utility>

#include "formats/display.hpp"
#include "formats/file_kind.hpp"
#include "formats/gguf_reader.hpp"
#include "formats/hf_folder.hpp"
#include "formats/safetensors_reader.hpp"

namespace bittern::formats {
namespace {

/// The first part of a split model looks whole but lacks most tensors: better said at once.
Result<void> RefuseSplit(const Metadata& metadata) {
  const auto count = BITTERN_TRY(metadata.GetUint("split.count"));
  if (count.value_or(1) <= 1) return {};
  const auto index = BITTERN_TRY(metadata.GetUint("split.no"));
  return Fail(ErrorCode::kUnsupported,
              fmt::format("part {} of a model split into {} files; not supported yet, merge them "
                          "first (llama-gguf-split --merge)",
                          index.value_or(0) + 1, *count));
}

}  // namespace

/// Fills a Checkpoint; the only place that may.
class CheckpointBuilder {
 public:
  static Result<Checkpoint> FromGguf(MappedFile file, std::string path) {
    auto checkpoint = BITTERN_TRY(FromGgufBytes(file.bytes(), std::move(path)));
    checkpoint.files_.push_back(std::move(file));
    checkpoint.memory_ = {};
    return checkpoint;
  }

  static Result<Checkpoint> FromGgufBytes(std::span<const std::byte> bytes, std::string path) {
    GgufContents contents = BITTERN_TRY(ParseGguf(bytes));
    BITTERN_TRY(RefuseSplit(contents.metadata));
    Checkpoint checkpoint;
    checkpoint.memory_ = bytes;
    checkpoint.path_ = std::move(path);
    checkpoint.kind_ = fmt::format("GGUF v{}", contents.version);
    checkpoint.data_start_ = contents.data_start;
    checkpoint.metadata_ = std::move(contents.metadata);
    checkpoint.SetTensors(std::move(contents.tensors));
    return checkpoint;
  }

  static Checkpoint FromHfFolder(HfFolderContents contents, std::string path) {
    Checkpoint checkpoint;
    checkpoint.files_ = std::move(contents.files);
    checkpoint.path_ = std::move(path);
    checkpoint.kind_ = "Hugging Face folder";
    checkpoint.data_start_ = contents.data_start;
    checkpoint.metadata_ = std::move(contents.metadata);
    checkpoint.SetTensors(std::move(contents.tensors));
    return checkpoint;
  }
};

namespace {

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

void Checkpoint::SetTensors(std::vector<Tensor> tensors) {
  tensors_ = std::move(tensors);
  index_.reserve(tensors_.size());
  for (std::size_t i = 0; i < tensors_.size(); ++i) index_.emplace(tensors_[i].name, i);
}

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
    return tl::unexpected(Within(shown, RefuseFile(file.bytes())));
  }
  auto checkpoint = CheckpointBuilder::FromGguf(std::move(file), shown);
  if (!checkpoint) return tl::unexpected(Within(shown, std::move(checkpoint).error()));
  return checkpoint;
}

Result<Checkpoint> Checkpoint::OpenBytes(std::span<const std::byte> bytes, std::string name) {
  if (!LooksLikeGguf(bytes)) return tl::unexpected(Within(name, RefuseFile(bytes)));
  auto checkpoint = CheckpointBuilder::FromGgufBytes(bytes, name);
  if (!checkpoint) return tl::unexpected(Within(name, std::move(checkpoint).error()));
  return checkpoint;
}

std::uint64_t Checkpoint::file_bytes() const noexcept {
  std::uint64_t bytes = memory_.size();
  for (const MappedFile& file : files_) bytes += file.bytes().size();
  return bytes;
}

void Checkpoint::Release(std::span<const std::byte> bytes) const noexcept {
  const std::less_equal<const std::byte*> not_after;
  for (const MappedFile& file : files_) {
    const std::span<const std::byte> all = file.bytes();
    const bool inside = not_after(all.data(), bytes.data()) &&
                        not_after(bytes.data() + bytes.size(), all.data() + all.size());
    if (inside) file.Release(bytes);
  }
}

const Tensor* Checkpoint::Find(std::string_view name) const {
  const auto found = index_.find(std::string(name));
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

}  // namespace bittern::formats
