// SPDX-License-Identifier: Apache-2.0
// A team of threads that runs one function together (SPMD): wake once per forward pass, meet at
// barriers in between. Waiting spins briefly, then parks, so a busy neighbour costs little.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/result.hpp"

namespace bittern {

/// A half-open range of indices.
struct Range {
  std::size_t begin, end;
};

namespace internal {
/// State that the threads of a pool share.
struct PoolState;
}  // namespace internal

/// One thread's view of a running team.
class Team {
 public:
  Team(internal::PoolState* state, int index, int size)
      : state_(state), index_(index), size_(size) {}

  [[nodiscard]] int index() const noexcept { return index_; }
  [[nodiscard]] int size() const noexcept { return size_; }
  /// Waits until every thread of the team is here; what they wrote before is visible after.
  void Barrier() noexcept {
    if (IsLast()) Open();
  }
  /// As Barrier, but the last thread to come calls step() before any leaves.
  template <class Step>
  void BarrierThen(const Step& step) {
    if (!IsLast()) return;
    step();
    Open();
  }
  /// This thread's share of [0, count): contiguous, in thread order, sizes within one of equal.
  [[nodiscard]] Range Share(std::size_t count) const noexcept { return ShareOf(index_, count); }

  /// Calls step(Range) for pieces of [0, count), `piece` (> 0) indices or fewer each, until the
  /// team has begun all of them. A thread does its own Share in order, then helps those that are
  /// behind: one that lost its CPU for a while does not hold up the others. Which thread does what
  /// is left to chance, so a step may depend on its range only. Every thread of the team must call
  /// it with the same count and piece; a barrier must lie between two calls, and before the results
  /// are used.
  template <class Step>
  void Deal(std::size_t count, std::size_t piece, const Step& step) const {
    if (size_ == 1) {
      if (count > 0) step(Range{0, count});
      return;
    }
    BeginDeal();
    for (int i = 0; i < size_; ++i) {
      const int owner = (index_ + i) % size_;
      const Range share = ShareOf(owner, count);
      for (;;) {
        const std::size_t begin = share.begin + piece * Claim(owner);
        if (begin >= share.end) break;
        step(Range{begin, std::min(begin + piece, share.end)});
      }
    }
  }

 private:
  [[nodiscard]] Range ShareOf(int owner, std::size_t count) const noexcept {
    const auto index = static_cast<std::size_t>(owner), size = static_cast<std::size_t>(size_);
    return {count * index / size, count * (index + 1) / size};
  }
  /// Arrives at a barrier. True for the thread that has to Open it; the others have waited.
  [[nodiscard]] bool IsLast() noexcept;
  void Open() noexcept;
  void BeginDeal() const noexcept;
  /// The number of the next piece of `owner`'s share, from 0.
  [[nodiscard]] std::size_t Claim(int owner) const noexcept;

  internal::PoolState* state_;
  int index_, size_;
};

/// Passes that went through ThreadPool::RunAdaptive.
struct PassCounts {
  std::uint64_t passes = 0;
  std::uint64_t threads = 0;  ///< summed over them

  /// Threads that worked on a pass, on average; `given` before the first one.
  [[nodiscard]] double mean_threads(int given) const noexcept {
    return passes == 0 ? given : static_cast<double>(threads) / static_cast<double>(passes);
  }
  friend PassCounts operator-(const PassCounts& a, const PassCounts& b) noexcept {
    return {a.passes - b.passes, a.threads - b.threads};
  }
};

/// Owns size - 1 threads; the caller of Run is the remaining one. Run may be called from one
/// thread at a time.
class ThreadPool {
 public:
  static constexpr int kMaxThreads = 1024;

  /// Errors: kInvalidArgument (num_threads outside 1..kMaxThreads), kOutOfMemory (no more threads).
  [[nodiscard]] static Result<ThreadPool> Create(int num_threads);
  ThreadPool(ThreadPool&&) noexcept;
  ThreadPool& operator=(ThreadPool&&) noexcept;
  ~ThreadPool();

  [[nodiscard]] int size() const noexcept;
  /// Runs `task` on every thread of the pool; returns when all have returned. `task` must not
  /// throw.
  void Run(const std::function<void(Team&)>& task) noexcept;
  /// As Run, but where threads have to share their CPUs with other programs, by as many threads as
  /// prove fastest (base/threads/team_size.hpp). Passes of one `kind` must be the same work. What a
  /// task computes must not depend on the size of its team.
  void RunAdaptive(std::uint32_t kind, const std::function<void(Team&)>& task) noexcept;
  [[nodiscard]] PassCounts pass_counts() const noexcept;

 private:
  explicit ThreadPool(std::unique_ptr<internal::PoolState> state);
  std::unique_ptr<internal::PoolState> state_;
};

/// Logical CPUs this process may run on (affinity mask and cgroup quota), at least 1.
[[nodiscard]] int UsableCpuCount() noexcept;

/// Threads to use by default: as UsableCpuCount, but one per physical core.
[[nodiscard]] int DefaultThreadCount() noexcept;

}  // namespace bittern
