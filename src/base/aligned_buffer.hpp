// SPDX-License-Identifier: Apache-2.0
// Zeroed memory aligned for vectors, whose failure to come is a Result; large ones ask the
// kernel for huge pages, because weights are streamed and TLB misses cost several percent.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>

#include "base/result.hpp"

namespace bittern {

/// T[size], zeroed, 64-byte aligned (2 MiB aligned from 4 MiB on). T is trivial.
template <class T>
class AlignedBuffer {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  AlignedBuffer() = default;

  /// Error kOutOfMemory names `what` and the size.
  [[nodiscard]] static Result<AlignedBuffer> Create(std::size_t size, std::string_view what) {
    std::size_t bytes = 0;
    const bool fits = !__builtin_mul_overflow(size, sizeof(T), &bytes) &&
                      !__builtin_add_overflow(bytes, kHugePage, &bytes);
    bytes -= fits ? kHugePage : 0;
    const std::size_t alignment = bytes >= 2 * kHugePage ? kHugePage : kCacheLine;
    void* data = nullptr;
    if (fits) {
      // At least one unit, so that an empty buffer still has an address.
      const std::size_t padded = (bytes / alignment + 1) * alignment;
      data = std::aligned_alloc(alignment, padded);
      if (data != nullptr && alignment == kHugePage) madvise(data, padded, MADV_HUGEPAGE);
    }
    if (data == nullptr) {
      return Fail(ErrorCode::kOutOfMemory, "cannot allocate " + std::to_string(size) + " x " +
                                               std::to_string(sizeof(T)) + " bytes for " +
                                               std::string(what));
    }
    // Fresh pages of a large allocation are zero already; small ones may be recycled.
    std::memset(data, 0, bytes);
    AlignedBuffer buffer;
    buffer.data_.reset(static_cast<T*>(data));
    buffer.size_ = size;
    return buffer;
  }

  [[nodiscard]] T* data() noexcept { return data_.get(); }
  [[nodiscard]] const T* data() const noexcept { return data_.get(); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::span<T> span() noexcept { return {data(), size_}; }
  [[nodiscard]] std::span<const T> span() const noexcept { return {data(), size_}; }
  [[nodiscard]] T& operator[](std::size_t i) noexcept { return data_.get()[i]; }
  [[nodiscard]] const T& operator[](std::size_t i) const noexcept { return data_.get()[i]; }

 private:
  static constexpr std::size_t kCacheLine = 64;
  static constexpr std::size_t kHugePage = std::size_t{2} << 20;

  struct FreeDeleter {
    void operator()(T* p) const noexcept { std::free(p); }
  };
  std::unique_ptr<T, FreeDeleter> data_;
  std::size_t size_ = 0;
};

}  // namespace bittern
