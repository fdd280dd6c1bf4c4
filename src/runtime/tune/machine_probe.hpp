// SPDX-License-Identifier: Apache-2.0
// Small measurements of this machine, as rulers for the figures of a benchmark. They are the rate
// at which memory is read, the matrix kernel's rate on data in cache, and the energy of the
// packages. Each takes well under two seconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/threads/thread_pool.hpp"

namespace bittern::kernels {
struct Kernels;
}

namespace bittern::runtime {

/// Bytes that a measurement of bandwidth should read: 512 MiB, or a quarter of the memory that is
/// free where that is less; at least 16 MiB.
[[nodiscard]] std::size_t ProbeBytes();

/// Bytes per second with which all threads of `pool` together read a buffer of `bytes`. Each reads
/// one contiguous share, as decode does. The median of seven passes. Error kOutOfMemory.
[[nodiscard]] Result<double> MeasureReadBandwidth(ThreadPool& pool, std::size_t bytes);

/// Multiply-adds per second of Tile16Ops::gemm on operands that stay in cache, all threads
/// together: the median of seven runs of some 20 ms. Error kOutOfMemory.
[[nodiscard]] Result<double> MeasureInt8Rate(ThreadPool& pool, const kernels::Kernels& kernels);

/// How many times as long as `b` one run of `a` takes. Both return seconds and take turns. The
/// least of each counts, since other programs only make a run longer; there are 5 to 40 rounds,
/// until the two least of each are within 5 %.
[[nodiscard]] double RatioOfLeast(const std::function<double()>& a,
                                  const std::function<double()>& b);

/// Cycles per second of the calling thread's CPU, about: a chain of operations that each take one
/// cycle on every CPU of note is timed. Some 30 ms; the best of five, since a pause only slows.
[[nodiscard]] double MeasureClock();

/// The highest clock that the system or the CPU's name promises; nothing if neither does.
[[nodiscard]] std::optional<double> NominalClock();

/// The CPU's name as the system gives it; "unknown" where it does not.
[[nodiscard]] std::string CpuName();

/// Bytes of the largest cache that one of these CPUs sees; 0: the system does not say.
[[nodiscard]] std::size_t LastLevelCacheBytes();

/// Energy that the CPU packages have used, from the counters of Linux's powercap (Intel and AMD).
/// It counts everything that runs on the machine. Not thread-safe.
class EnergyMeter {
 public:
  /// `root`: for tests. Nothing where there are no counters or they may not be read (often only by
  /// root).
  [[nodiscard]] static std::optional<EnergyMeter> Open(
      const std::filesystem::path& root = "/sys/class/powercap");

  /// Joules since Open or the last call, whichever is later. Counters that wrapped around once
  /// between are told by their range. Nothing if a counter has gone.
  [[nodiscard]] std::optional<double> Take();

 private:
  struct Counter {
    std::filesystem::path file;
    std::uint64_t last_uj, range_uj;
  };
  std::vector<Counter> counters_;
};

}  // namespace bittern::runtime
