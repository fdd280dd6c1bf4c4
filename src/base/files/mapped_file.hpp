// SPDX-License-Identifier: Apache-2.0
// A file as memory: mapped read-only, so that pages are shared with other processes and come
// and go as the kernel likes. The file is not ours, so it may be cut off or written to at any time;
// readers ask afterwards whether it was (CheckUnchanged).
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

#include "base/result.hpp"

namespace bittern {

/// A whole file, mapped read-only; unmapped by the destructor. Movable, immutable, so any
/// number of threads may read it. Holds a file descriptor.
class MappedFile {
 public:
  /// Errors: kNotFound, kIo (a directory, unreadable, empty, not mappable).
  [[nodiscard]] static Result<MappedFile> Open(const std::filesystem::path& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }

  /// Error kCorruptFile, which names the file: it was cut off or written to since Open (its size or
  /// time of change differ, or a read met bytes that are gone), so bytes() may be anything by now.
  /// To be asked after a read, before what was read is used or said to be wrong. A file that was
  /// deleted, or whose name another one took over, is still there unchanged. One system call. A
  /// read of bytes that are gone ends the process unless it called GuardMappedReads
  /// (mapped_guard.hpp).
  [[nodiscard]] Result<void> CheckUnchanged() const;

  /// Tells the kernel that these bytes of the mapping will not be read again soon: whole pages
  /// inside the range stop counting as resident memory. Reading them later still works.
  void Release(std::span<const std::byte> range) const noexcept;

 private:
  struct Opened;
  MappedFile(std::span<const std::byte> bytes, std::unique_ptr<const Opened> opened) noexcept;

  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::unique_ptr<const Opened> opened_;
};

}  // namespace bittern
