// SPDX-License-Identifier: Apache-2.0
// A team that spins. A forward pass has hundreds of barriers, 0.3 microseconds each, and waking a
// sleeping thread takes 50, so waiting threads spin for a while before they sleep. One atomic word
// tells a run's number and the size of its team; a second one counts arrivals at the barrier. Deal
// gives each thread its own share first and lets it claim pieces of others' shares afterwards.
// docs/design/0003-threads.md has the measurements. Run is called by one thread at a time.
#include "base/threads/thread_pool.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "base/os/cpus.hpp"
#include "base/os/signals.hpp"
#include "base/os/waiting.hpp"
#include "base/threads/team_size.hpp"

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

/// How long to spin before sleeping, in pauses of some 50 nanoseconds. Measured
/// (docs/design/0003-threads.md): with a CPU for every thread, spinning long is what survives a
/// busy neighbour, since a sleeper waits milliseconds for its turn; with more threads than CPUs
/// a spinning thread keeps the others from running.
int SpinsFor(int num_threads) noexcept {
  constexpr int kLong = 10000, kShort = 200;
  return num_threads <= UsableCpuCount() ? kLong : kShort;
}

double Now() noexcept {
  using Seconds = std::chrono::duration<double>;
  return Seconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

namespace internal {

/// The part of a thread's state that others read, in a cache line of its own.
struct alignas(kCacheLine) Member {
  /// Bits 63-32: the call of Deal; bits 31-0: pieces claimed. A claim for another call starts from
  /// zero, so what a thread that is still asleep left behind needs no reset.
  std::atomic<std::uint64_t> claims{0};
  std::uint32_t call = 0;    ///< calls of Deal this thread has begun: its own business
  std::atomic<int> cpu{-1};  ///< where it was seen last
  double asleep = 0;         ///< seconds of this run: its own business
  double busy = 1;           ///< share of the last run that it had a CPU; read after that run
  bool held_up = false;      ///< in the last run, see TeamPass; likewise
};

/// A run's number and the size of its team, in one word, so that a late thread sees both of
/// the same run. Numbers return after 2^21 runs: a thread can only have slept through runs that did
/// not want it.
class RunWord {
 public:
  explicit RunWord(std::uint32_t word) noexcept : word_(word) {}
  [[nodiscard]] std::uint32_t word() const noexcept { return word_; }
  [[nodiscard]] int size() const noexcept { return static_cast<int>(word_ & kSizeMask); }
  [[nodiscard]] RunWord Next(int size) const noexcept {
    return RunWord((word_ & ~kSizeMask) + kSizeMask + 1 + static_cast<std::uint32_t>(size));
  }

 private:
  static constexpr std::uint32_t kSizeMask = 0x7ff;
  static_assert(ThreadPool::kMaxThreads <= kSizeMask);
  std::uint32_t word_;
};

struct PoolState {
  explicit PoolState(int num_threads)
      : size(num_threads),
        team_size(num_threads),
        spins(SpinsFor(num_threads)),
        members(static_cast<std::size_t>(num_threads)) {}

  /// The life of a thread of the pool: waits for a run and does its share if it is in the team. A
  /// thread that the last run left out sleeps at once and does not spin.
  void Work(int index) noexcept {
    std::uint32_t seen = 0;
    bool wanted = true;  // in the last run; else there is no hurry
    for (;;) {
      AwaitChange(run, seen, index, RunWord(seen).size(), wanted ? spins : 0);
      if (stopping.load(std::memory_order_acquire)) return;
      seen = run.load(std::memory_order_acquire);
      const int team_of_run = RunWord(seen).size();
      wanted = index < team_of_run;
      if (wanted) DoShare(index, team_of_run);
    }
  }

  /// One thread's part in a run.
  void DoShare(int index, int team_of_run) noexcept {
    Member& member = members[static_cast<std::size_t>(index)];
    member.call = first_call;
    Team team(this, index, team_of_run);
    member.asleep = 0;
    const double begin = Now(), cpu_begin = os::ThreadCpuSeconds();
    (*task)(team);
    const double seconds = Now() - begin;
    const double cpu_seconds = cpu_begin < 0 ? seconds : os::ThreadCpuSeconds() - cpu_begin;
    member.busy = seconds <= 0 ? 1 : std::min(1.0, cpu_seconds / seconds);
    member.held_up = cpu_seconds < kHeldUpShare * (seconds - member.asleep);
    if (IsLast(index, team_of_run)) Open(team_of_run);
  }

  void Run(int team_of_run, const std::function<void(Team&)>& work) noexcept {
    task = &work;
    first_call = members[0].call;
    if (size > 1) {
      const RunWord last(run.load(std::memory_order_relaxed));
      // Sequentially consistent, since notify_all of libstdc++ asks first whether anybody waits: a
      // plain store may pass that question on x86, and a thread that falls asleep now is missed.
      run.store(last.Next(team_of_run).word(), std::memory_order_seq_cst);
      os::WakeAll(run);
    }
    DoShare(0, team_of_run);
  }

  /// Arrives at a barrier of `count` threads: the last one is told so, the others wait for it.
  bool IsLast(int index, int count) noexcept {
    if (count == 1) return true;
    members[static_cast<std::size_t>(index)].cpu.store(os::CurrentCpu(), std::memory_order_relaxed);
    const std::uint32_t phase = barrier_phase.load(std::memory_order_relaxed);
    if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == count) return true;
    AwaitChange(barrier_phase, phase, index, count, spins);
    return false;
  }

  void Open(int count) noexcept {
    if (count == 1) return;
    arrived.store(0, std::memory_order_relaxed);
    barrier_phase.fetch_add(1, std::memory_order_release);
    os::WakeAll(barrier_phase);
  }

  /// Waits until `counter` differs from `seen`: spins for a few microseconds, because the others
  /// are usually almost there, then sleeps in the kernel, because they may have lost their CPU. Who
  /// sits on the CPU that another one of the first `count` needs sleeps at once.
  void AwaitChange(const std::atomic<std::uint32_t>& counter, std::uint32_t seen, int index,
                   int count, int most_spins) noexcept {
    constexpr int kLook = 64;
    for (int i = 0; i < most_spins; ++i) {
      if (counter.load(std::memory_order_acquire) != seen) return;
      if (i % kLook == kLook - 1 && InTheWay(index, count)) break;
      Pause();
    }
    if (counter.load(std::memory_order_acquire) != seen) return;
    const double begin = Now();
    do {
      os::WaitWhile(counter, seen);
    } while (counter.load(std::memory_order_acquire) == seen);
    members[static_cast<std::size_t>(index)].asleep += Now() - begin;
  }

  /// True if another thread of the team was seen last on the CPU that `index` is running on. Those
  /// that are left out of the team sleep, wherever that was.
  [[nodiscard]] bool InTheWay(int index, int count) const noexcept {
    const int cpu = os::CurrentCpu();
    if (cpu < 0) return false;
    for (int i = 0; i < count; ++i) {
      const Member& other = members[static_cast<std::size_t>(i)];
      if (i != index && other.cpu.load(std::memory_order_relaxed) == cpu) return true;
    }
    return false;
  }

  const int size;
  TeamSize team_size;
  PassCounts counts = {};
  const int spins;
  const std::function<void(Team&)>* task = nullptr;
  std::vector<std::thread> threads;
  std::vector<Member> members;
  std::atomic<bool> stopping{false};
  std::uint32_t first_call = 0;                           ///< calls of Deal before this run
  alignas(kCacheLine) std::atomic<std::uint32_t> run{0};  ///< a RunWord
  alignas(kCacheLine) std::atomic<std::uint32_t> barrier_phase{0};
  alignas(kCacheLine) std::atomic<int> arrived{0};
};

}  // namespace internal

bool Team::IsLast() noexcept { return state_->IsLast(index_, size_); }
void Team::Open() noexcept { state_->Open(size_); }

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
  const os::SignalsBlocked blocked;
  try {
    for (int i = 1; i < num_threads; ++i) {
      pool.state_->threads.emplace_back([state = pool.state_.get(), i] { state->Work(i); });
    }
  } catch (const std::system_error& error) {
    return Fail(ErrorCode::kOutOfMemory,
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
  state_->run.fetch_add(1, std::memory_order_release);
  os::WakeAll(state_->run);
  for (auto& thread : state_->threads) thread.join();
}

int ThreadPool::size() const noexcept { return state_->size; }

void ThreadPool::Run(const std::function<void(Team&)>& task) noexcept {
  state_->Run(state_->size, task);
}

void ThreadPool::RunAdaptive(std::uint32_t kind, const std::function<void(Team&)>& task) noexcept {
  const int size = state_->team_size.Next();
  ++state_->counts.passes;
  state_->counts.threads += static_cast<std::uint64_t>(size);
  TeamPass pass = {.kind = kind, .begin = Now(), .seconds = 0, .busy = 0, .held_up = 0};
  state_->Run(size, task);
  pass.seconds = Now() - pass.begin;
  for (std::size_t i = 0; i < static_cast<std::size_t>(size); ++i) {
    pass.busy += state_->members[i].busy;
    pass.held_up += state_->members[i].held_up;
  }
  state_->team_size.Record(pass);
}

PassCounts ThreadPool::pass_counts() const noexcept { return state_->counts; }

}  // namespace bittern
