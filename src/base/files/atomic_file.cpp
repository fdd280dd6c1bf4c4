// SPDX-License-Identifier: Apache-2.0
// The error of a full disk may come from the write, the sync or the close, and all are heard.
#include "base/files/atomic_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/files/removal_list.hpp"
#include "base/files/system_error.hpp"
#include "base/os/file.hpp"
#include "base/os/process.hpp"

namespace bittern {
namespace {

using internal::ListedName;

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;

/// A name beside `path` that no other file or process uses.
std::filesystem::path TemporaryName(const std::filesystem::path& path) {
  static std::atomic<unsigned> counter{0};
  // "out/" names the folder "out"; the temporary one must not lie inside it.
  auto plain = path.has_filename() ? path : path.parent_path();
  plain += fmt::format(".part-{}-{}", os::ProcessId(), counter++);
  return plain;
}

}  // namespace

AtomicFile::AtomicFile(int fd, std::filesystem::path path, std::filesystem::path temporary,
                       std::unique_ptr<internal::ListedName> listed)
    : fd_(fd),
      path_(std::move(path)),
      temporary_(std::move(temporary)),
      listed_(std::move(listed)) {
  buffer_.reserve(kBufferBytes);
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      listed_(std::move(other.listed_)),
      buffer_(std::move(other.buffer_)),
      position_(other.position_) {}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) os::Close(fd_);
  std::error_code ignored;
  if (!temporary_.empty()) std::filesystem::remove(temporary_, ignored);
}

/// Devices and folders are refused before anything is made: replacing /dev/null by a file is never
/// what was meant.
Result<AtomicFile> AtomicFile::Create(const std::filesystem::path& path) {
  std::error_code ignored;
  const auto type = std::filesystem::status(path, ignored).type();
  if (type != std::filesystem::file_type::regular &&
      type != std::filesystem::file_type::not_found) {
    return Fail(ErrorCode::kIo, path.string() + ": exists and is not a regular file");
  }
  // A link is followed, so that its target is replaced and not the link.
  auto target = path;
  if (std::filesystem::is_symlink(path, ignored)) {
    const auto resolved = std::filesystem::canonical(path, ignored);
    if (!ignored) target = resolved;
  }
  auto temporary = TemporaryName(target);
  auto listed = std::make_unique<ListedName>(temporary.string(), ListedName::Kind::kFile);
  const int fd = os::OpenNew(temporary);
  if (fd < 0) return tl::unexpected(SystemError(path, "write", errno));
  os::CopyPermissions(target, fd);  // a replaced file's permissions are its owner's choice
  return AtomicFile(fd, std::move(target), std::move(temporary), std::move(listed));
}

/// A write may take a part only.
Result<void> AtomicFile::Flush() {
  std::span<const std::byte> rest(buffer_);
  while (!rest.empty()) {
    const std::int64_t written = os::Write(fd_, rest);
    if (written < 0) return tl::unexpected(SystemError(path_, "write", errno));
    rest = rest.subspan(static_cast<std::size_t>(written));
  }
  buffer_.clear();
  return {};
}

Result<void> AtomicFile::Write(std::span<const std::byte> bytes) {
  position_ += bytes.size();
  while (!bytes.empty()) {
    const std::size_t count = std::min(bytes.size(), kBufferBytes - buffer_.size());
    buffer_.insert(buffer_.end(), bytes.begin(),
                   bytes.begin() + static_cast<std::ptrdiff_t>(count));
    bytes = bytes.subspan(count);
    if (buffer_.size() == kBufferBytes) BITTERN_TRY(Flush());
  }
  return {};
}

Result<void> AtomicFile::WriteZeros(std::uint64_t count) {
  constexpr std::byte kZeros[4096] = {};
  while (count > 0) {
    const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(count, sizeof kZeros));
    BITTERN_TRY(Write(std::span(kZeros, part)));
    count -= part;
  }
  return {};
}

Result<void> AtomicFile::Sync() {
  BITTERN_TRY(Flush());
  if (os::Sync(fd_) != 0) return tl::unexpected(SystemError(path_, "write", errno));
  return {};
}

/// First the bytes are on the disk, then the name: a crash in between leaves the old file whole.
/// The folder is synced last, so that the new name survives one too.
Result<void> AtomicFile::Commit() {
  BITTERN_TRY(Sync());
  if (os::Close(std::exchange(fd_, -1)) != 0) {
    return tl::unexpected(SystemError(path_, "write", errno));
  }
  internal::MoveIntoFolder(path_.string());
  if (os::Replace(temporary_, path_) != 0) {
    return tl::unexpected(SystemError(path_, "replace", errno));
  }
  temporary_.clear();
  listed_.reset();
  os::SyncFolderOf(path_);
  return {};
}

AtomicFolder::AtomicFolder(std::filesystem::path path, std::filesystem::path temporary,
                           std::unique_ptr<internal::ListedName> listed)
    : path_(std::move(path)), temporary_(std::move(temporary)), listed_(std::move(listed)) {}

AtomicFolder::AtomicFolder(AtomicFolder&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      listed_(std::move(other.listed_)) {}

AtomicFolder::~AtomicFolder() {
  std::error_code ignored;
  if (!temporary_.empty()) std::filesystem::remove_all(temporary_, ignored);
}

/// An empty folder may be there already, as made by a user; Commit moves onto it.
Result<AtomicFolder> AtomicFolder::Create(const std::filesystem::path& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  const bool exists = std::filesystem::exists(status);
  const bool empty =
      std::filesystem::is_directory(status) && std::filesystem::is_empty(path, error) && !error;
  if (exists && !empty) {
    return Fail(ErrorCode::kInvalidArgument,
                path.string() + ": exists already; a new or an empty folder is expected");
  }
  auto temporary = TemporaryName(path);
  auto listed = std::make_unique<ListedName>(temporary.string(), ListedName::Kind::kFolder);
  if (!std::filesystem::create_directory(temporary, error)) {
    return Fail(ErrorCode::kIo, fmt::format("{}: cannot make the folder: {}", path.string(),
                                            error ? error.message() : "the name is in use"));
  }
  return AtomicFolder(path.has_filename() ? path : path.parent_path(), std::move(temporary),
                      std::move(listed));
}

Result<void> AtomicFolder::Commit() {
  if (os::MoveFolder(temporary_, path_) != 0) {
    return tl::unexpected(SystemError(path_, "make the folder", errno));
  }
  temporary_.clear();
  listed_.reset();
  os::SyncFolderOf(path_);
  return {};
}

}  // namespace bittern
