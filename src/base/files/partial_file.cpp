// SPDX-License-Identifier: Apache-2.0
// Writes only append, so that a process that is killed leaves a whole beginning.
#include "base/files/partial_file.hpp"

#include <cerrno>
#include <utility>

#include "base/files/system_error.hpp"
#include "base/os/file.hpp"

namespace bittern {
namespace {

tl::unexpected<Error> Failed(const std::filesystem::path& path, std::string_view action) {
  return tl::unexpected(SystemError(path, action, errno));
}

}  // namespace

PartialFile::PartialFile(int fd, std::filesystem::path path, std::uint64_t size)
    : fd_(fd), path_(std::move(path)), size_(size) {}

PartialFile::PartialFile(PartialFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)), size_(other.size_) {}

PartialFile::~PartialFile() {
  if (fd_ >= 0) os::Close(fd_);
}

Result<PartialFile> PartialFile::Open(const std::filesystem::path& path) {
  const int fd = os::OpenToGrow(path);
  if (fd < 0) return Failed(path, "write");
  PartialFile file(fd, path, 0);
  os::FileState state;
  if (os::StateOf(fd, &state) != 0) return Failed(path, "read");
  if (!state.is_regular) {
    return Fail(ErrorCode::kIo, path.string() + ": exists and is not a regular file");
  }
  file.size_ = state.size;
  return file;
}

Result<void> PartialFile::Read(std::uint64_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const std::int64_t got = os::ReadAt(fd_, bytes, offset);
    if (got < 0) return Failed(path_, "read");
    if (got == 0) {
      return Fail(ErrorCode::kIo, path_.string() + ": was cut off while it was being written");
    }
    bytes = bytes.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  return {};
}

Result<void> PartialFile::Append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::int64_t written = os::Write(fd_, bytes);
    if (written < 0) return Failed(path_, "write");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    size_ += static_cast<std::uint64_t>(written);
  }
  return {};
}

Result<void> PartialFile::Clear() {
  if (os::Resize(fd_, 0) != 0) return Failed(path_, "write");
  size_ = 0;
  return {};
}

/// The bytes must be on the disk before the name is: after a crash the name would else stand for a
/// file without its end. The file is closed first, since some systems rename no open one.
Result<void> PartialFile::FinishAs(const std::filesystem::path& path) {
  if (os::Sync(fd_) != 0) return Failed(path_, "write");
  if (os::Close(std::exchange(fd_, -1)) != 0) return Failed(path_, "write");
  if (os::Replace(path_, path) != 0) return Failed(path, "write");
  os::SyncFolderOf(path);
  return {};
}

FileLock::FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FileLock::~FileLock() {
  if (fd_ >= 0) os::Close(fd_);
}

/// Asks for the lock without waiting.
Result<std::optional<FileLock>> FileLock::Try(const std::filesystem::path& path) {
  const int fd = os::OpenToGrow(path);
  if (fd < 0) return Failed(path, "lock");
  FileLock lock(fd);
  const int got = os::TryLock(fd);
  if (got < 0) return Failed(path, "lock");
  if (got == 0) return std::nullopt;
  return std::optional<FileLock>(std::move(lock));
}

}  // namespace bittern
