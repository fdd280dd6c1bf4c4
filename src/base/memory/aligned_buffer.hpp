// SPDX-License-Identifier: Apache-2.0
// Zeroed memory aligned for vectors, whose failure to come is a Result. Buffers from 64 KiB on are
// fresh pages of their own: untouched ones cost nothing, freed ones go back to the system. From
// 4 MiB on the kernel is asked for huge pages, because weights are streamed and TLB misses cost
// several percent.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/result.hpp"

namespace bittern {

namespace internal {

/// Memory of AllocateZeroed, given back on destruction.
struct RawMemory {
  std::byte* data = nullptr;           // aligned start
  void* allocation = nullptr;          // what free or munmap wants
  std::size_t mapped_bytes = 0;        // 0: from the heap
  std::shared_ptr<RawMemory> part_of;  // a chunk that others use too; then nothing above is given
  bool wishes = false;                 // for huge pages

  RawMemory() = default;
  RawMemory(RawMemory&& other) noexcept { swap(other); }
  RawMemory& operator=(RawMemory&& other) noexcept {
    swap(other);
    return *this;
  }
  ~RawMemory();
  void swap(RawMemory& other) noexcept;
};

/// count * element_bytes zero bytes, 64-byte aligned (4 KiB from 64 KiB on, 2 MiB from 4 MiB on).
/// kOutOfMemory.
[[nodiscard]] Result<RawMemory> AllocateZeroed(std::size_t count, std::size_t element_bytes,
                                               std::string_view what);

}  // namespace internal

/// Bytes of all buffers that this thread has made, freed ones too: the difference of two calls is
/// the memory that the work between them asked for.
[[nodiscard]] std::size_t BytesAskedByThread() noexcept;

/// Hands out parts of large chunks, so that buffers of some megabytes lie in huge pages, edge to
/// edge, or of a file, which memory need not hold. A chunk lives as long as any part. One thread.
class HugeArena {
 public:
  /// In a file of its own in `folder`, of `bytes`; what does not fit goes to memory. Error kIo.
  [[nodiscard]] static Result<HugeArena> CreateOnDisk(const std::string& folder, std::size_t bytes);
  /// Sends to the disk what was taken since, so that the system can drop it. Error kIo.
  [[nodiscard]] Result<void> WriteOut();

  /// As AllocateZeroed, aligned to 4 KiB.
  [[nodiscard]] Result<internal::RawMemory> Take(std::size_t count, std::size_t element_bytes,
                                                 std::string_view what);

 private:
  internal::RawMemory TakePart(std::size_t bytes);  // of the chunk, which has them
  std::shared_ptr<internal::RawMemory> chunk_;
  std::size_t used_ = 0, size_ = 0, written_ = 0;
  bool on_disk_ = false;
};

/// T[size], zeroed. T is trivial. Movable; not thread-safe.
template <class T>
class AlignedBuffer {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  AlignedBuffer() = default;

  /// Error kOutOfMemory names `what` and the size.
  [[nodiscard]] static Result<AlignedBuffer> Create(std::size_t size, std::string_view what) {
    AlignedBuffer buffer;
    buffer.memory_ = BITTERN_TRY(internal::AllocateZeroed(size, sizeof(T), what));
    buffer.size_ = size;
    return buffer;
  }

  /// The same in a part of an arena's chunk.
  [[nodiscard]] static Result<AlignedBuffer> CreateIn(HugeArena& arena, std::size_t size,
                                                      std::string_view what) {
    AlignedBuffer buffer;
    buffer.memory_ = BITTERN_TRY(arena.Take(size, sizeof(T), what));
    buffer.size_ = size;
    return buffer;
  }

  /// `size` elements from `first` on, in this buffer's memory, which must live as long.
  [[nodiscard]] AlignedBuffer Part(std::size_t first, std::size_t size) const noexcept {
    AlignedBuffer part;
    part.memory_.data = memory_.data + first * sizeof(T);
    part.size_ = size;
    return part;
  }

  [[nodiscard]] T* data() noexcept { return reinterpret_cast<T*>(memory_.data); }
  [[nodiscard]] const T* data() const noexcept { return reinterpret_cast<const T*>(memory_.data); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::span<T> span() noexcept { return {data(), size_}; }
  [[nodiscard]] std::span<const T> span() const noexcept { return {data(), size_}; }
  [[nodiscard]] T& operator[](std::size_t i) noexcept { return data()[i]; }
  [[nodiscard]] const T& operator[](std::size_t i) const noexcept { return data()[i]; }

 private:
  internal::RawMemory memory_;
  std::size_t size_ = 0;
};

}  // namespace bittern
