// SPDX-License-Identifier: Apache-2.0
// System calls, each tried again after a signal.
#include "base/os/file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/os/posix/change_time.hpp"

namespace bittern::os {

bool IsDiskFull(int code) noexcept { return code == ENOSPC || code == EDQUOT; }

int OpenToRead(const std::filesystem::path& path) noexcept {
  return open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

int OpenNew(const std::filesystem::path& path) noexcept {
  return open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

/// O_NONBLOCK keeps a pipe of that name from holding up the open.
int OpenToGrow(const std::filesystem::path& path) noexcept {
  constexpr int kFlags = O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  return open(path.c_str(), kFlags, 0666);
}

int Close(int file) noexcept { return close(file); }

std::int64_t ReadAt(int file, std::span<std::byte> bytes, std::uint64_t offset) noexcept {
  for (;;) {
    const ssize_t got = pread(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (got >= 0 || errno != EINTR) return got;
  }
}

std::int64_t Write(int file, std::span<const std::byte> bytes) noexcept {
  for (;;) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written >= 0 || errno != EINTR) return written;
  }
}

/// EINVAL: a file system without fsync.
int Sync(int file) noexcept { return fsync(file) == 0 || errno == EINVAL ? 0 : -1; }

int Resize(int file, std::uint64_t size) noexcept {
  return ftruncate(file, static_cast<off_t>(size));
}

int StateOf(int file, FileState* state) noexcept {
  struct stat info = {};
  if (fstat(file, &info) != 0) return -1;
  const timespec changed = ChangeTimeOf(info);
  *state = {.size = static_cast<std::uint64_t>(info.st_size),
            .changed_s = changed.tv_sec,
            .changed_ns = changed.tv_nsec,
            .is_regular = S_ISREG(info.st_mode)};
  return 0;
}

void CopyPermissions(const std::filesystem::path& from, int to) noexcept {
  struct stat info = {};
  if (stat(from.c_str(), &info) == 0) (void)!fchmod(to, info.st_mode & 07777);
}

int Replace(const std::filesystem::path& from, const std::filesystem::path& to) noexcept {
  return rename(from.c_str(), to.c_str());
}

/// rename replaces an empty folder and nothing else.
int MoveFolder(const std::filesystem::path& from, const std::filesystem::path& to) noexcept {
  return rename(from.c_str(), to.c_str());
}

void SyncFolderOf(const std::filesystem::path& path) noexcept {
  const auto parent = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  const int folder = open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  fsync(folder);
  close(folder);
}

int TryLock(int file) noexcept {
  while (flock(file, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno == EWOULDBLOCK) return 0;
    return errno == ENOLCK || errno == EOPNOTSUPP || errno == ENOSYS ? 1 : -1;
  }
  return 1;
}

std::FILE* OpenStream(const std::filesystem::path& path, const char* mode) noexcept {
  return std::fopen(path.c_str(), mode);
}

int ResizeStream(std::FILE* stream, std::uint64_t size) noexcept {
  return ftruncate(fileno(stream), static_cast<off_t>(size));
}

int RemoveFile(const char* name) noexcept { return unlink(name); }
int RemoveEmptyFolder(const char* name) noexcept { return rmdir(name); }

void OccupyStandardStreams() noexcept {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    const bool is_closed = fcntl(fd, F_GETFD) == -1;
    // The lowest free descriptor is taken, which is this one.
    if (is_closed && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd) return;
  }
}

}  // namespace bittern::os
