// SPDX-License-Identifier: Apache-2.0
// Measures the cost of waking a team, of meeting at a barrier, and of dealing out work.
//   cmake --preset bench && cmake --build --preset bench && build/bench/base_bench
#include <benchmark/benchmark.h>

#include <chrono>
#include <thread>

#include "base/threads/thread_pool.hpp"

namespace bittern {
namespace {

/// Wake, do nothing, meet at the end; as one pass follows another.
void Run(benchmark::State& state) {
  auto pool = ThreadPool::Create(static_cast<int>(state.range(0))).value();
  for (auto _ : state) pool.Run([](Team&) {});
}

/// As Run, by the way that also decides on the size of the team.
void RunAdaptive(benchmark::State& state) {
  auto pool = ThreadPool::Create(static_cast<int>(state.range(0))).value();
  for (auto _ : state) pool.RunAdaptive(1, [](Team&) {});
}

/// As Run, after 2 ms in which the threads went to sleep.
void RunAfterSleep(benchmark::State& state) {
  auto pool = ThreadPool::Create(static_cast<int>(state.range(0))).value();
  for (auto _ : state) {
    state.PauseTiming();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    state.ResumeTiming();
    pool.Run([](Team&) {});
  }
}

/// Shows the time of one of `count` things in an iteration.
void ShowEach(benchmark::State& state, std::size_t count) {
  state.counters["each"] =
      benchmark::Counter(static_cast<double>(count), benchmark::Counter::kIsIterationInvariantRate |
                                                         benchmark::Counter::kInvert);
}

void Barriers(benchmark::State& state) {
  constexpr std::size_t kCount = 1000;
  auto pool = ThreadPool::Create(static_cast<int>(state.range(0))).value();
  for (auto _ : state) {
    pool.Run([](Team& team) {
      for (std::size_t i = 0; i < kCount; ++i) team.Barrier();
    });
  }
  ShowEach(state, kCount);
}

/// Pieces of nothing.
void Deal(benchmark::State& state) {
  constexpr std::size_t kCount = 1000;
  auto pool = ThreadPool::Create(static_cast<int>(state.range(0))).value();
  for (auto _ : state) {
    pool.Run([](Team& team) {
      team.Deal(kCount, 1, [](Range range) { benchmark::DoNotOptimize(range.begin); });
    });
  }
  ShowEach(state, kCount);
}

BENCHMARK(Run)->Arg(2)->UseRealTime();
BENCHMARK(RunAdaptive)->Arg(2)->UseRealTime();
BENCHMARK(RunAfterSleep)->Arg(2)->UseRealTime();
BENCHMARK(Barriers)->Arg(2)->UseRealTime();
BENCHMARK(Deal)->Arg(2)->UseRealTime();

}  // namespace
}  // namespace bittern
