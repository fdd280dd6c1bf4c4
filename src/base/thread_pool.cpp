// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sched.h>
#endif

namespace bittern {
namespace {

constexpr std::size_t kCacheLine = 64;

inline void Pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ __volatile__("yield");
#endif
}

/// The CPU this thread runs on; -1 where nobody can say.
inline int CurrentCpu() noexcept {
#if defined(__linux__)
  return sched_getcpu();
#else
  return -1;
#endif
}

/// How long to spin before sleeping, in pauses of some 50 nanoseconds. Measured
/// (docs/design/0003-threads.md): with a CPU for every thread, spinning long is what survives a
/// busy neighbour, since a sleeper waits milliseconds for its turn; with more threads than CPUs
/// whoever spins keeps the others from running.
int SpinsFor(int num_threads) noexcept {
  constexpr int kLong = 10000, kShort = 200;
  return num_threads <= UsableCpuCount() ? kLong : kShort;
}

}  // namespace

namespace internal {

/// What the others may know of a thread, in a cache line of its own.
struct alignas(kCacheLine) Member {
  /// Bits 63-32: the call of Deal; bits 31-0: pieces claimed. A claim for another call starts from
  /// zero, so nobody has to reset what a thread that is still asleep left behind.
  std::atomic<std::uint64_t> claims{0};
  std::uint32_t call = 0;    ///< calls of Deal this thread has begun: its own business
  std::atomic<int> cpu{-1};  ///< where it was seen last
};

struct PoolState {
  explicit PoolState(int num_threads)
      : size(num_threads),
        spins(SpinsFor(num_threads)),
        members(static_cast<std::size_t>(num_threads)) {}

  void Work(int index) noexcept {
    std::uint32_t seen = 0;
    for (;;) {
      AwaitChange(generation, seen, index);
      ++seen;
      if (stopping.load(std::memory_order_acquire)) return;
      Team team(this, index, size);
      (*task)(team);
      Barrier(index);
    }
  }

  /// The last thread to arrive opens the barrier for the others.
  void Barrier(int index) noexcept {
    if (size == 1) return;
    members[static_cast<std::size_t>(index)].cpu.store(CurrentCpu(), std::memory_order_relaxed);
    const std::uint32_t phase = barrier_phase.load(std::memory_order_relaxed);
    if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == size) {
      arrived.store(0, std::memory_order_relaxed);
      barrier_phase.fetch_add(1, std::memory_order_release);
      barrier_phase.notify_all();
    } else {
      AwaitChange(barrier_phase, phase, index);
    }
  }

  /// Waits until `counter` differs from `seen`: spins for a few microseconds, because the others
  /// are usually almost there, then sleeps in the kernel, because they may have lost their CPU. Who
  /// sits on the CPU that another one needs sleeps at once.
  void AwaitChange(const std::atomic<std::uint32_t>& counter, std::uint32_t seen,
                   int index) const noexcept {
    constexpr int kLook = 64;
    for (int i = 0; i < spins; ++i) {
      if (counter.load(std::memory_order_acquire) != seen) return;
      if (i % kLook == kLook - 1 && InTheWay(index)) break;
      Pause();
    }
    while (counter.load(std::memory_order_acquire) == seen) {
      counter.wait(seen, std::memory_order_acquire);
    }
  }

  /// True if another thread was seen last on the CPU that `index` is running on.
  [[nodiscard]] bool InTheWay(int index) const noexcept {
    const int cpu = CurrentCpu();
    if (cpu < 0) return false;
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (i != static_cast<std::size_t>(index) &&
          members[i].cpu.load(std::memory_order_relaxed) == cpu) {
        return true;
      }
    }
    return false;
  }

  const int size;
  const int spins;
  const std::function<void(Team&)>* task = nullptr;
  std::vector<std::thread> threads;
  std::vector<Member> members;
  std::atomic<bool> stopping{false};
  alignas(kCacheLine) std::atomic<std::uint32_t> generation{0};
  alignas(kCacheLine) std::atomic<std::uint32_t> barrier_phase{0};
  alignas(kCacheLine) std::atomic<int> arrived{0};
};

}  // namespace internal

void Team::Barrier() noexcept { state_->Barrier(index_); }

void Team::BeginDeal() const noexcept { ++state_->members[static_cast<std::size_t>(index_)].call; }

std::size_t Team::Claim(int owner) const noexcept {
  const std::uint32_t call = state_->members[static_cast<std::size_t>(index_)].call;
  std::atomic<std::uint64_t>& claims = state_->members[static_cast<std::size_t>(owner)].claims;
  std::uint64_t seen = claims.load(std::memory_order_relaxed), first;
  do {
    const bool of_this_call = seen >> 32 == call;
    first = of_this_call ? seen : std::uint64_t{call} << 32;
  } while (!claims.compare_exchange_weak(seen, first + 1, std::memory_order_relaxed));
  return static_cast<std::size_t>(first & 0xffffffffu);
}

Result<ThreadPool> ThreadPool::Create(int num_threads) {
  if (num_threads < 1 || num_threads > kMaxThreads) {
    return Fail(ErrorCode::kInvalidArgument, "number of threads must be 1 to " +
                                                 std::to_string(kMaxThreads) + ", got " +
                                                 std::to_string(num_threads));
  }
  ThreadPool pool(std::make_unique<internal::PoolState>(num_threads));
  try {
    for (int i = 1; i < num_threads; ++i) {
      pool.state_->threads.emplace_back([state = pool.state_.get(), i] { state->Work(i); });
    }
  } catch (const std::system_error& error) {
    return Fail(ErrorCode::kIo,
                "cannot start " + std::to_string(num_threads) + " threads: " + error.what());
  }
  return pool;
}

ThreadPool::ThreadPool(std::unique_ptr<internal::PoolState> state) : state_(std::move(state)) {}
ThreadPool::ThreadPool(ThreadPool&&) noexcept = default;

ThreadPool& ThreadPool::operator=(ThreadPool&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}

ThreadPool::~ThreadPool() {
  if (state_ == nullptr) return;
  state_->stopping.store(true, std::memory_order_release);
  state_->generation.fetch_add(1, std::memory_order_release);
  state_->generation.notify_all();
  for (auto& thread : state_->threads) thread.join();
}

int ThreadPool::size() const noexcept { return state_->size; }

void ThreadPool::Run(const std::function<void(Team&)>& task) noexcept {
  Team team(state_.get(), 0, state_->size);
  if (state_->size > 1) {
    state_->task = &task;
    state_->generation.fetch_add(1, std::memory_order_release);
    state_->generation.notify_all();
  }
  task(team);
  state_->Barrier(0);
}

}  // namespace bittern
