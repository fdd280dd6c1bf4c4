// SPDX-License-Identifier: Apache-2.0
#include "base/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

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
  int fd;
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
};

}  // namespace

Result<MappedFile> MappedFile::Open(const std::filesystem::path& path) {
  // O_NONBLOCK: opening a FIFO must fail below, not wait for a writer.
  const Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
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
  return MappedFile(static_cast<const std::byte*>(data), size);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::Release(std::span<const std::byte> range) const noexcept {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto first = (reinterpret_cast<std::uintptr_t>(range.data()) + page - 1) & ~(page - 1);
  const auto last = reinterpret_cast<std::uintptr_t>(range.data() + range.size()) & ~(page - 1);
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

}  // namespace bittern
