// SPDX-License-Identifier: Apache-2.0
// POSIX underneath: append-only writes, so that a process that is killed leaves a whole beginning.
#include "base/files/partial_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace bittern {
namespace {

/// The error of a system call by errno, with what helps against it where that is known.
tl::unexpected<Error> Failed(const std::filesystem::path& path, std::string_view action, int code) {
  std::string message =
      fmt::format("{}: cannot {}: {}", path.string(), action, std::strerror(code));
  if (code == ENOSPC || code == EDQUOT) {
    std::error_code ignored;
    const auto space = std::filesystem::space(path.parent_path(), ignored);
    if (!ignored) {
      message += fmt::format(" ({:.1f} MB are free there)", double(space.available) / 1e6);
    }
  }
  if (code == EFBIG) message += " (see `ulimit -f`: the limit on the size of files)";
  return Fail(ErrorCode::kIo, std::move(message));
}

}  // namespace

PartialFile::PartialFile(int fd, std::filesystem::path path, std::uint64_t size)
    : fd_(fd), path_(std::move(path)), size_(size) {}

PartialFile::PartialFile(PartialFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)), size_(other.size_) {}

PartialFile::~PartialFile() {
  if (fd_ >= 0) close(fd_);
}

/// O_NOFOLLOW refuses a link that another user put there; O_NONBLOCK keeps a pipe of that name from
/// holding up the open.
Result<PartialFile> PartialFile::Open(const std::filesystem::path& path) {
  constexpr int kFlags = O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  const int fd = open(path.c_str(), kFlags, 0666);
  if (fd < 0) return Failed(path, "write", errno);
  PartialFile file(fd, path, 0);
  struct stat status = {};
  if (fstat(fd, &status) != 0) return Failed(path, "read", errno);
  if (!S_ISREG(status.st_mode)) {
    return Fail(ErrorCode::kIo, path.string() + ": exists and is not a regular file");
  }
  file.size_ = static_cast<std::uint64_t>(status.st_size);
  return file;
}

Result<void> PartialFile::Read(std::uint64_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t got = pread(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Failed(path_, "read", errno);
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
    const ssize_t written = write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Failed(path_, "write", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    size_ += static_cast<std::uint64_t>(written);
  }
  return {};
}

Result<void> PartialFile::Clear() {
  if (ftruncate(fd_, 0) != 0) return Failed(path_, "write", errno);
  size_ = 0;
  return {};
}

/// The bytes must be on the disk before the name is: after a crash the name would else stand for a
/// file without its end. EINVAL: a file system without fsync.
Result<void> PartialFile::FinishAs(const std::filesystem::path& path) {
  if (fsync(fd_) != 0 && errno != EINVAL) return Failed(path_, "write", errno);
  if (rename(path_.c_str(), path.c_str()) != 0) return Failed(path, "write", errno);
  // A rename lasts only once its folder is on the disk. Not every file system can; that is fine.
  const int folder = open(path.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    fsync(folder);
    close(folder);
  }
  return {};
}

FileLock::FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FileLock::~FileLock() {
  if (fd_ >= 0) close(fd_);
}

/// Asks for the lock without waiting.
Result<std::optional<FileLock>> FileLock::Try(const std::filesystem::path& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (fd < 0) return Failed(path, "lock", errno);
  FileLock lock(fd);
  while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno == EWOULDBLOCK) return std::nullopt;
    if (errno == ENOLCK || errno == EOPNOTSUPP || errno == ENOSYS) break;  // no locks here
    return Failed(path, "lock", errno);
  }
  return std::optional<FileLock>(std::move(lock));
}

}  // namespace bittern
