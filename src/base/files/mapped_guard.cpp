// SPDX-License-Identifier: Apache-2.0
// Replace runs inside of a handler: it touches lock-free atomics, and calls what is safe there.
#include "base/files/mapped_guard.hpp"

#include <cerrno>
#include <cstring>
#include <mutex>
#include <string>

#include "base/os/memory.hpp"
#include "base/threads/process_fork.hpp"

namespace bittern {
namespace internal {

/// A range, for readers that may look while it changes: `version` is odd meanwhile. The range that
/// a thread reads from cannot change under it, so the handler skips those that do.
struct GuardedRange::Place {
  std::atomic<bool> taken{false};
  std::atomic<std::uint32_t> version{0};
  std::atomic<std::uintptr_t> begin{0}, end{0};
  std::atomic<bool> damaged{false};

  void Set(std::uintptr_t new_begin, std::uintptr_t new_end) noexcept {
    version.fetch_add(1, std::memory_order_acq_rel);
    begin.store(new_begin, std::memory_order_release);  // to be seen after the odd version
    end.store(new_end, std::memory_order_release);
    damaged.store(false, std::memory_order_relaxed);
    version.fetch_add(1, std::memory_order_release);
  }

  struct Bounds {
    std::uintptr_t begin, end;
  };
  /// The range if `address` lies in it, else zeros.
  [[nodiscard]] Bounds Around(std::uintptr_t address) const noexcept {
    const std::uint32_t before = version.load(std::memory_order_acquire);
    const std::uintptr_t first = begin.load(std::memory_order_acquire);
    const std::uintptr_t last = end.load(std::memory_order_acquire);
    const bool stable = before % 2 == 0 && version.load(std::memory_order_relaxed) == before;
    return stable && first <= address && address < last ? Bounds{first, last} : Bounds{0, 0};
  }
};

namespace {

using RangePlace = GuardedRange::Place;
static_assert(std::atomic<std::uintptr_t>::is_always_lock_free);
static_assert(std::atomic<bool>::is_always_lock_free);

/// Places come in chunks; a chunk stays.
struct Chunk {
  RangePlace places[64];
  Chunk* next = nullptr;
};
std::atomic<Chunk*> chunks{nullptr};

/// Takes a free place, in a new chunk if there is none. Without a lock, since the signal handler
/// may walk the chunks at any moment.
RangePlace* TakePlace() {
  const auto take = [](Chunk* chunk) -> RangePlace* {
    for (RangePlace& place : chunk->places) {
      if (!place.taken.exchange(true, std::memory_order_acquire)) return &place;
    }
    return nullptr;
  };
  for (Chunk* chunk = chunks.load(std::memory_order_acquire); chunk != nullptr;
       chunk = chunk->next) {
    if (RangePlace* place = take(chunk)) return place;
  }
  auto* chunk = new Chunk;
  RangePlace* place = take(chunk);
  chunk->next = chunks.load(std::memory_order_relaxed);
  while (!chunks.compare_exchange_weak(chunk->next, chunk, std::memory_order_release,
                                       std::memory_order_relaxed)) {
  }
  return place;
}

/// Zeros where the bytes of a range are gone. False if no range has the address.
bool Replace(std::uintptr_t address) noexcept {
  for (Chunk* chunk = chunks.load(std::memory_order_acquire); chunk != nullptr;
       chunk = chunk->next) {
    for (RangePlace& place : chunk->places) {
      const RangePlace::Bounds bounds = place.Around(address);
      if (bounds.end == 0) continue;
      place.damaged.store(true, std::memory_order_release);
      return os::ReplaceByZeros(bounds.begin, address, bounds.end);
    }
  }
  return false;
}

}  // namespace

GuardedRange::GuardedRange(std::span<const std::byte> bytes) : place_(TakePlace()) {
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data());
  place_->Set(begin, begin + bytes.size());
}

GuardedRange::~GuardedRange() {
  place_->Set(0, 0);
  place_->taken.store(false, std::memory_order_release);
}

bool GuardedRange::damaged() const noexcept {
  return place_->damaged.load(std::memory_order_acquire);
}

}  // namespace internal

Result<void> GuardMappedReads() {
  static bool installed = false;
  const std::lock_guard lock(ProcessMutex<internal::GuardedRange>());
  if (installed) return {};
  if (os::OnReadFault(internal::Replace) != 0) {
    return Fail(ErrorCode::kIo, std::string("cannot handle reads of files that were cut off: ") +
                                    std::strerror(errno));
  }
  installed = true;
  return {};
}

}  // namespace bittern
