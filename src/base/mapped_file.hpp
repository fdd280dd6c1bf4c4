// SPDX-License-Identifier: Apache-2.0
// A file as memory: mapped read-only, so that pages are shared with other processes and come
// and go as the kernel likes.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "base/result.hpp"

namespace bittern {

/// A whole file, mapped read-only; unmapped by the destructor. Movable, immutable, so any
/// number of threads may read it.
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

  /// Tells the kernel that these bytes of the mapping will not be read again soon: whole pages
  /// inside the range stop counting as resident memory. Reading them later still works.
  void Release(std::span<const std::byte> range) const noexcept;

 private:
  MappedFile(const std::byte* data, std::size_t size) : data_(data), size_(size) {}

  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace bittern
