// SPDX-License-Identifier: Apache-2.0
// The CPUs: how many this process may use, which one runs, what they are. A figure that the system
// does not tell is 0, and a name "". Any thread.
#pragma once

#include <cstddef>
#include <string>

namespace bittern::os {

/// CPUs that this process may run on, and the physical cores among them. On machines with fast and
/// slow cores, only the fast ones count as cores: the slowest thread holds up all others.
struct CpuCounts {
  int cpus = 0, cores = 0;
};
[[nodiscard]] CpuCounts CountCpus();
/// Whole CPUs of the limit that an administrator has set for this process; 0: none.
[[nodiscard]] int CpuQuota();

/// The CPU this thread runs on; -1 where the system does not say.
[[nodiscard]] int CurrentCpu() noexcept;
/// CPU time of this thread in seconds; negative where the system does not say.
[[nodiscard]] double ThreadCpuSeconds() noexcept;

[[nodiscard]] std::string CpuName();
/// The size of the largest cache, as the first CPU has it.
[[nodiscard]] std::size_t LastLevelCacheBytes();
/// The highest clock, in Hz.
[[nodiscard]] double HighestClock();

/// Features of an ARM CPU beyond ARMv8.0. Unlike x86 it cannot be asked without the system.
struct ArmFeatures {
  bool dot_product = false;  ///< sdot and udot
  bool int8_matrix = false;  ///< smmla and usmmla
};
/// All false on other architectures and where the system does not say.
[[nodiscard]] ArmFeatures DetectArmFeatures() noexcept;

}  // namespace bittern::os
