// SPDX-License-Identifier: Apache-2.0
// A file that grows at its end over several runs of a program, as an unfinished download does. At
// any moment what it holds is the beginning of the whole, so that whichever program finds it can go
// on. Unlike AtomicFile it stays where it is when the process ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>

#include "base/result.hpp"

namespace bittern {

/// Not thread-safe.
class PartialFile {
 public:
  /// Opens `path` to go on at its end, or makes it, empty. Error kIo: the folder is missing or
  /// read-only, `path` is a link or no regular file.
  [[nodiscard]] static Result<PartialFile> Open(const std::filesystem::path& path);

  PartialFile(PartialFile&& other) noexcept;
  PartialFile& operator=(PartialFile&&) = delete;
  /// Closes the file; it stays.
  ~PartialFile();

  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

  /// Fills `bytes` from `offset`, which the file has. Error kIo.
  [[nodiscard]] Result<void> Read(std::uint64_t offset, std::span<std::byte> bytes) const;
  /// Error kIo, with the space that is left where the disk is full; what was written before stays.
  [[nodiscard]] Result<void> Append(std::span<const std::byte> bytes);
  /// Drops everything. Error kIo.
  [[nodiscard]] Result<void> Clear();
  /// Sends the bytes to the disk and renames the file, replacing what has that name; nothing
  /// else can be done with it then. Error kIo.
  [[nodiscard]] Result<void> FinishAs(const std::filesystem::path& path);

 private:
  PartialFile(int fd, std::filesystem::path path, std::uint64_t size);

  int fd_ = -1;
  std::filesystem::path path_;
  std::uint64_t size_ = 0;
};

/// A lock that processes share by the name of a file; ends with the process at the latest.
class FileLock {
 public:
  /// Nothing where another process has the lock. The file is made where it is missing and stays.
  /// On file systems without locks every caller gets it. Error kIo.
  [[nodiscard]] static Result<std::optional<FileLock>> Try(const std::filesystem::path& path);

  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;
  /// Gives the lock back.
  ~FileLock();

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace bittern
