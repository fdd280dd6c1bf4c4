// SPDX-License-Identifier: Apache-2.0
// Output that appears under its name only when it is whole. A file is written under a temporary
// name beside its place and renamed at the end; a folder likewise. Whatever happens before that,
// what stood under the name stays as it was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace bittern {

namespace internal {
class ListedName;  // base/files/removal_list.hpp
}

/// Removes the temporary files and folders of all AtomicFiles and AtomicFolders that are not
/// complete. For handlers of signals that end the process, on the thread that writes them: it may
/// be called at any time, and nothing of these files may be used after.
void RemoveTemporaryFiles() noexcept;

/// A file being written front to back. Not thread-safe.
class AtomicFile {
 public:
  /// Opens `path`.part-<process>-<count> for writing; `path` itself is not touched. Errors: kIo
  /// (the folder is missing or read-only; `path` is a folder, device or pipe).
  [[nodiscard]] static Result<AtomicFile> Create(const std::filesystem::path& path);

  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  /// Removes the temporary file unless Commit has succeeded.
  ~AtomicFile();

  /// Error kIo, with the space that is left where the disk is full; nothing more can be written
  /// after it.
  [[nodiscard]] Result<void> Write(std::span<const std::byte> bytes);
  [[nodiscard]] Result<void> Write(std::string_view text) {
    return Write(std::as_bytes(std::span(text.data(), text.size())));
  }
  /// `count` zero bytes.
  [[nodiscard]] Result<void> WriteZeros(std::uint64_t count);
  /// Bytes written so far.
  [[nodiscard]] std::uint64_t position() const noexcept { return position_; }

  /// Sends everything to the disk, so that it can be read back under temporary(). Error kIo.
  [[nodiscard]] Result<void> Sync();
  /// The path of the bytes before Commit.
  [[nodiscard]] const std::filesystem::path& temporary() const noexcept { return temporary_; }

  /// Sync, then gives the file its name, replacing what had it. Error kIo.
  [[nodiscard]] Result<void> Commit();

 private:
  AtomicFile(int fd, std::filesystem::path path, std::filesystem::path temporary,
             std::unique_ptr<internal::ListedName> listed);
  [[nodiscard]] Result<void> Flush();

  int fd_ = -1;
  std::filesystem::path path_, temporary_;
  std::unique_ptr<internal::ListedName> listed_;  ///< temporary_
  std::vector<std::byte> buffer_;
  std::uint64_t position_ = 0;
};

/// A folder being filled under a temporary name.
class AtomicFolder {
 public:
  /// Makes `path`.part-<process>-<count>. Errors kIo; kInvalidArgument: `path` exists and is not
  /// an empty folder (folders of others are never replaced).
  [[nodiscard]] static Result<AtomicFolder> Create(const std::filesystem::path& path);

  AtomicFolder(AtomicFolder&& other) noexcept;
  AtomicFolder& operator=(AtomicFolder&&) = delete;
  /// Removes the temporary folder with all in it unless Commit has succeeded.
  ~AtomicFolder();

  /// The folder to write the files to.
  [[nodiscard]] const std::filesystem::path& temporary() const noexcept { return temporary_; }
  /// Gives the folder its name. Error kIo.
  [[nodiscard]] Result<void> Commit();

 private:
  AtomicFolder(std::filesystem::path path, std::filesystem::path temporary,
               std::unique_ptr<internal::ListedName> listed);

  std::filesystem::path path_, temporary_;
  std::unique_ptr<internal::ListedName> listed_;  ///< temporary_
};

}  // namespace bittern
