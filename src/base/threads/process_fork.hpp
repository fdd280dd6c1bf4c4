// SPDX-License-Identifier: Apache-2.0
// Locks that live through fork(). The child has one thread, so a lock that another thread of the
// parent held at that moment would stay locked there for ever, and what it guards may be half
// changed. A lock that is held for moments is taken before each fork (ProcessMutex); what is locked
// for longer gets a new copy in the child (OfProcess).
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

namespace bittern {

/// Has each fork() call `before` in the parent, then `in_parent` and `in_child`, in the thread that
/// forks: to take locks and to give them up in both. Functions that were added later are called
/// earlier before and later after; null ones not at all. They are never removed, but where the
/// library is unloaded. Any thread.
void WatchForks(void (*before)(), void (*in_parent)(), void (*in_child)());

/// Forks between the process that loaded this code and this one. Any thread.
[[nodiscard]] int ProcessGeneration() noexcept;

/// The lock of everything that `Owner` stands for, in all of the process. A fork waits for it, so
/// it is held for moments only, and never while another lock of this kind is taken. It is no
/// std::shared_mutex: glibc's cannot be unlocked by a child of the process that locked it. Never
/// destroyed: threads may use it while the process ends.
template <class Owner>
[[nodiscard]] std::mutex& ProcessMutex() {
  static std::mutex* const mutex = [] {
    WatchForks([] { ProcessMutex<Owner>().lock(); }, [] { ProcessMutex<Owner>().unlock(); },
               [] { ProcessMutex<Owner>().unlock(); });
    return new std::mutex;
  }();
  return *mutex;
}

/// A T of each process. A child process gets a new one and never touches its parent's, nor frees
/// it. Any thread, as far as T has locks of its own.
template <class T>
class OfProcess {
 public:
  OfProcess() : now_(new Copy) {}
  OfProcess(const OfProcess&) = delete;
  OfProcess& operator=(const OfProcess&) = delete;
  ~OfProcess() {
    Copy* const copy = now_.load();
    if (copy->generation == ProcessGeneration()) delete copy;
  }

  /// Throws std::bad_alloc in the first call of a child.
  [[nodiscard]] T& get() {
    Copy* found = now_.load(std::memory_order_acquire);
    if (found->generation == ProcessGeneration()) return found->value;
    auto fresh = std::make_unique<Copy>();
    if (!now_.compare_exchange_strong(found, fresh.get())) return found->value;  // another's
    return fresh.release()->value;
  }

 private:
  struct Copy {
    T value{};
    int generation = ProcessGeneration();
  };
  std::atomic<Copy*> now_;
};

}  // namespace bittern
