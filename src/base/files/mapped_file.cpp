// SPDX-License-Identifier: Apache-2.0
// The identity of the file (size, time of the last change) is kept at Open and compared by
// CheckUnchanged.
#include "base/files/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "base/files/mapped_guard.hpp"

namespace bittern {
namespace {

Error SystemError(const std::filesystem::path& path, const char* action) {
  const int code = errno;
  return {code == ENOENT   ? ErrorCode::kNotFound
          : code == ENOMEM ? ErrorCode::kOutOfMemory
                           : ErrorCode::kIo,
          path.string() + ": cannot " + action + ": " + std::strerror(code)};
}

/// Closes a descriptor at the end of its scope.
struct Descriptor {
  explicit Descriptor(int opened) : fd(opened) {}
  Descriptor(Descriptor&& other) noexcept : fd(std::exchange(other.fd, -1)) {}
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
  int fd;
};

/// When the contents of a file changed last.
timespec ChangeTime(const struct stat& info) {
#if defined(__APPLE__)
  return info.st_mtimespec;
#else
  return info.st_mtim;
#endif
}

}  // namespace

/// The file's identity when it was opened.
struct MappedFile::Opened {
  std::string path;
  Descriptor file;
  struct stat info;
  internal::GuardedRange range;
};

Result<MappedFile> MappedFile::Open(const std::filesystem::path& path) {
  // O_NONBLOCK: opening a FIFO must fail below, not wait for a writer.
  Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.fd < 0) return tl::unexpected(SystemError(path, "open"));
  struct stat info;
  if (fstat(file.fd, &info) != 0) return tl::unexpected(SystemError(path, "read"));
  if (!S_ISREG(info.st_mode)) {
    return Fail(ErrorCode::kIo, path.string() + ": not a regular file");
  }
  if (info.st_size == 0) return Fail(ErrorCode::kCorruptFile, path.string() + ": file is empty");
  const auto size = static_cast<std::size_t>(info.st_size);
  void* data = mmap(nullptr, size, PROT_READ, MAP_SHARED, file.fd, 0);
  if (data == MAP_FAILED) return tl::unexpected(SystemError(path, "map"));
  const std::span bytes(static_cast<const std::byte*>(data), size);
  return MappedFile(
      bytes, std::unique_ptr<const Opened>(
                 new Opened{path.string(), std::move(file), info, internal::GuardedRange(bytes)}));
}

MappedFile::MappedFile(std::span<const std::byte> bytes,
                       std::unique_ptr<const Opened> opened) noexcept
    : data_(bytes.data()), size_(bytes.size()), opened_(std::move(opened)) {}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      opened_(std::move(other.opened_)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(opened_, other.opened_);
  return *this;
}

MappedFile::~MappedFile() {
  opened_.reset();  // before other memory can lie there
  if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), size_);
}

Result<void> MappedFile::CheckUnchanged() const {
  if (opened_ == nullptr) return {};
  const auto changed = [this](const std::string& how) {
    return Fail(ErrorCode::kCorruptFile, opened_->path + ": changed while it was in use: " + how);
  };
  struct stat now;
  if (fstat(opened_->file.fd, &now) != 0) return tl::unexpected(SystemError(opened_->path, "read"));
  if (now.st_size != opened_->info.st_size) {
    return changed(std::to_string(opened_->info.st_size) + " bytes when it was opened, " +
                   std::to_string(now.st_size) + " now");
  }
  const timespec before = ChangeTime(opened_->info), after = ChangeTime(now);
  if (before.tv_sec != after.tv_sec || before.tv_nsec != after.tv_nsec) {
    return changed("it was written to after it was opened");
  }
  if (opened_->range.damaged()) return changed("a part of it could not be read");
  return {};
}

void MappedFile::Release(std::span<const std::byte> range) const noexcept {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto first = (reinterpret_cast<std::uintptr_t>(range.data()) + page - 1) & ~(page - 1);
  const auto last = reinterpret_cast<std::uintptr_t>(range.data() + range.size()) & ~(page - 1);
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

}  // namespace bittern
