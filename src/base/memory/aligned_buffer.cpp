// SPDX-License-Identifier: Apache-2.0
// Large buffers are mapped, so that they can have huge pages. Middle ones are mapped too: what no
// one touches costs nothing, and what is freed goes back to the system, while the heap keeps it.
// Small ones come from the heap.
#include "base/memory/aligned_buffer.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <new>
#include <utility>

#include "base/memory/huge_pages.hpp"
#include "base/os/memory.hpp"

namespace bittern::internal {
namespace {

thread_local std::size_t bytes_asked = 0;

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

/// From so many bytes on a buffer has pages of its own.
constexpr std::size_t kMapped = std::size_t{64} << 10;

/// Fresh pages, which are zero.
bool MapPages(std::size_t bytes, RawMemory* memory) {
  void* base = os::TakePages(bytes);
  if (base == nullptr) return false;
  memory->allocation = base;
  memory->mapped_bytes = bytes;
  memory->data = static_cast<std::byte*>(base);
  return true;
}

/// The same from a huge page's border on, so that the system can use huge pages for all of it.
bool MapHugePages(std::size_t bytes, RawMemory* memory) {
  if (!MapPages(bytes + kHugePage, memory)) return false;  // room to align the start
  const auto address = reinterpret_cast<std::uintptr_t>(memory->allocation);
  const std::uintptr_t aligned = (address + kHugePage - 1) & ~(kHugePage - 1);
  memory->data = reinterpret_cast<std::byte*>(aligned);
  WishOrAwaitHugePages(memory->data, bytes);
  memory->wishes = true;
  return true;
}

/// Zeroed memory at a cache line's border.
bool TakeFromHeap(std::size_t bytes, RawMemory* memory) {
  // One unit more than needed, so that an empty buffer still has an address.
  const std::size_t padded = (bytes / kCacheLine + 1) * kCacheLine;
  memory->allocation = ::operator new(padded, std::align_val_t(kCacheLine), std::nothrow);
  if (memory->allocation == nullptr) return false;
  std::memset(memory->allocation, 0, padded);
  memory->data = static_cast<std::byte*>(memory->allocation);
  return true;
}

bool Take(std::size_t bytes, RawMemory* memory) {
  if (bytes >= 2 * kHugePage) return MapHugePages(bytes, memory);
  return bytes >= kMapped ? MapPages(bytes, memory) : TakeFromHeap(bytes, memory);
}

}  // namespace

/// A part of a HugeArena's chunk owns nothing: the chunk goes with its last part.
RawMemory::~RawMemory() {
  if (part_of != nullptr) return;
  if (wishes) ForgetHugePages(data);
  if (mapped_bytes != 0) {
    os::GivePages(allocation, mapped_bytes);
  } else {
    ::operator delete(allocation, std::align_val_t(kCacheLine));
  }
}

void RawMemory::swap(RawMemory& other) noexcept {
  std::swap(data, other.data);
  std::swap(allocation, other.allocation);
  std::swap(mapped_bytes, other.mapped_bytes);
  std::swap(part_of, other.part_of);
  std::swap(wishes, other.wishes);
}

Result<RawMemory> AllocateZeroed(std::size_t count, std::size_t element_bytes,
                                 std::string_view what) {
  std::size_t bytes = 0, with_margin = 0;
  RawMemory memory;
  if (__builtin_mul_overflow(count, element_bytes, &bytes) ||
      __builtin_add_overflow(bytes, 2 * kHugePage, &with_margin) || !Take(bytes, &memory)) {
    return Fail(ErrorCode::kOutOfMemory, "cannot allocate " + std::to_string(count) + " x " +
                                             std::to_string(element_bytes) + " bytes for " +
                                             std::string(what));
  }
  bytes_asked += bytes;
  return memory;
}

}  // namespace bittern::internal

namespace bittern {

namespace {

constexpr std::size_t kPage = 4096;  // where parts of an arena begin

}  // namespace

std::size_t BytesAskedByThread() noexcept { return internal::bytes_asked; }

Result<internal::RawMemory> HugeArena::Take(std::size_t count, std::size_t element_bytes,
                                            std::string_view what) {
  constexpr std::size_t kChunk = std::size_t{64} << 20;
  std::size_t bytes = 0;
  const bool too_large = __builtin_mul_overflow(count, element_bytes, &bytes);
  if (!too_large && on_disk_ && bytes <= size_ - used_) return TakePart(bytes);
  if (too_large || on_disk_ || bytes > kChunk / 4) {
    return internal::AllocateZeroed(count, element_bytes, what);  // large enough by itself
  }
  if (bytes > size_ - used_) {
    auto chunk = BITTERN_TRY(internal::AllocateZeroed(kChunk, 1, what));
    chunk_ = std::make_shared<internal::RawMemory>(std::move(chunk));
    used_ = 0;
    size_ = kChunk;
  }
  return TakePart(bytes);
}

internal::RawMemory HugeArena::TakePart(std::size_t bytes) {
  internal::RawMemory part;
  part.data = chunk_->data + used_;
  part.part_of = chunk_;
  used_ = std::min(size_, used_ + (bytes + kPage - 1) / kPage * kPage);
  return part;
}

Result<HugeArena> HugeArena::CreateOnDisk(const std::string& folder, std::size_t bytes) {
  HugeArena arena;
  arena.size_ = (bytes + kPage - 1) / kPage * kPage;
  arena.on_disk_ = true;
  auto chunk = std::make_shared<internal::RawMemory>();
  chunk->allocation = os::TakePagesOnDisk(std::filesystem::path(folder), arena.size_);
  if (chunk->allocation == nullptr) {
    return Fail(ErrorCode::kIo, folder + ": cannot make a file of " + std::to_string(arena.size_) +
                                    " bytes there: " + std::strerror(errno));
  }
  chunk->mapped_bytes = arena.size_;
  chunk->data = static_cast<std::byte*>(chunk->allocation);
  arena.chunk_ = std::move(chunk);
  return arena;
}

Result<void> HugeArena::WriteOut() {
  if (!on_disk_ || used_ == written_) return {};
  if (os::WriteOut(chunk_->data + written_, used_ - written_) != 0) {
    return Fail(ErrorCode::kIo,
                std::string("cannot write weights to the disk: ") + std::strerror(errno));
  }
  written_ = used_;
  return {};
}

}  // namespace bittern
