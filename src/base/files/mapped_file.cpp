// SPDX-License-Identifier: Apache-2.0
// The identity of the file (size, time of the last change) is kept at Open and compared by
// CheckUnchanged.
#include "base/files/mapped_file.hpp"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "base/files/mapped_guard.hpp"
#include "base/os/file.hpp"
#include "base/os/memory.hpp"

namespace bittern {
namespace {

Error FailedTo(const std::filesystem::path& path, const char* action) {
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
    if (fd >= 0) os::Close(fd);
  }
  int fd;
};

}  // namespace

/// The file's identity when it was opened.
struct MappedFile::Opened {
  std::string path;
  Descriptor file;
  os::FileState state;
  internal::GuardedRange range;
};

Result<MappedFile> MappedFile::Open(const std::filesystem::path& path) {
  Descriptor file(os::OpenToRead(path));
  if (file.fd < 0) return tl::unexpected(FailedTo(path, "open"));
  os::FileState state;
  if (os::StateOf(file.fd, &state) != 0) return tl::unexpected(FailedTo(path, "read"));
  if (!state.is_regular) {
    return Fail(ErrorCode::kIo, path.string() + ": not a regular file");
  }
  if (state.size == 0) return Fail(ErrorCode::kCorruptFile, path.string() + ": file is empty");
  const auto size = static_cast<std::size_t>(state.size);
  const std::byte* const data = os::MapFile(file.fd, size);
  if (data == nullptr) return tl::unexpected(FailedTo(path, "map"));
  const std::span bytes(data, size);
  return MappedFile(
      bytes, std::unique_ptr<const Opened>(
                 new Opened{path.string(), std::move(file), state, internal::GuardedRange(bytes)}));
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
  if (data_ != nullptr) os::UnmapFile(data_, size_);
}

Result<void> MappedFile::CheckUnchanged() const {
  if (opened_ == nullptr) return {};
  const auto changed = [this](const std::string& how) {
    return Fail(ErrorCode::kCorruptFile, opened_->path + ": changed while it was in use: " + how);
  };
  os::FileState now;
  if (os::StateOf(opened_->file.fd, &now) != 0) {
    return tl::unexpected(FailedTo(opened_->path, "read"));
  }
  const os::FileState& before = opened_->state;
  if (now.size != before.size) {
    return changed(std::to_string(before.size) + " bytes when it was opened, " +
                   std::to_string(now.size) + " now");
  }
  if (before.changed_s != now.changed_s || before.changed_ns != now.changed_ns) {
    return changed("it was written to after it was opened");
  }
  if (opened_->range.damaged()) return changed("a part of it could not be read");
  return {};
}

void MappedFile::Release(std::span<const std::byte> range) const noexcept {
  os::ReleasePages(range);
}

}  // namespace bittern
