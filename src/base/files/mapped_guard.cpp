// SPDX-License-Identifier: Apache-2.0
// The handler calls mmap, which is a bare system call on the systems that we know, and touches
// lock-free atomics; nothing else is safe in a signal.
#include "base/files/mapped_guard.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <string>

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

  /// The end of the range if `address` lies in it, else 0.
  [[nodiscard]] std::uintptr_t EndBehind(std::uintptr_t address) const noexcept {
    const std::uint32_t before = version.load(std::memory_order_acquire);
    const std::uintptr_t first = begin.load(std::memory_order_acquire);
    const std::uintptr_t last = end.load(std::memory_order_acquire);
    const bool stable = before % 2 == 0 && version.load(std::memory_order_relaxed) == before;
    return stable && first <= address && address < last ? last : 0;
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

std::uintptr_t page_size = 0;
struct sigaction previous = {};

/// Zeros from the page of `address` to the end of its range: a file that ends before the page has
/// nothing after it either. False if no range has the address.
bool Replace(std::uintptr_t address) noexcept {
  for (Chunk* chunk = chunks.load(std::memory_order_acquire); chunk != nullptr;
       chunk = chunk->next) {
    for (RangePlace& place : chunk->places) {
      const std::uintptr_t end = place.EndBehind(address);
      if (end == 0) continue;
      const std::uintptr_t page = address & ~(page_size - 1);
      place.damaged.store(true, std::memory_order_release);
      return mmap(reinterpret_cast<void*>(page), end - page, PROT_READ,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
    }
  }
  return false;
}

/// Does as the system would without this handler.
void PassOn(int signal, siginfo_t* info, void* context) noexcept {
  if ((previous.sa_flags & SA_SIGINFO) != 0) return previous.sa_sigaction(signal, info, context);
  if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
    return previous.sa_handler(signal);
  }
  // The read is tried again and ends the process. One that was sent by kill() is not.
  ::signal(signal, SIG_DFL);
  if (info->si_code <= 0) raise(signal);
}

extern "C" void OnBusError(int signal, siginfo_t* info, void* context) {
  const int saved = errno;
  const bool of_a_read = info->si_code == BUS_ADRERR || info->si_code == BUS_OBJERR;
  const bool replaced = of_a_read && Replace(reinterpret_cast<std::uintptr_t>(info->si_addr));
  errno = saved;
  if (!replaced) PassOn(signal, info, context);
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
  internal::page_size = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  struct sigaction action = {};
  action.sa_sigaction = internal::OnBusError;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  if (sigaction(SIGBUS, nullptr, &internal::previous) != 0 ||
      sigaction(SIGBUS, &action, nullptr) != 0) {
    return Fail(ErrorCode::kIo, std::string("cannot handle SIGBUS: ") + std::strerror(errno));
  }
  installed = true;
  return {};
}

}  // namespace bittern
