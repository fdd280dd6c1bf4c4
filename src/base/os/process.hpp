// SPDX-License-Identifier: Apache-2.0
// This process: its number, figures and limits, the forks it makes, random numbers, and the names
// of the system. Any thread.
#pragma once

#include <cstdint>
#include <string>

namespace bittern::os {

[[nodiscard]] long ProcessId() noexcept;

/// A figure that the system does not tell is 0.
struct ProcessUsage {
  double cpu_s = 0;       ///< of all threads
  double start_time = 0;  ///< in seconds since 1970
  std::uint64_t resident_bytes = 0, virtual_bytes = 0;
  std::uint64_t open_files = 0, most_files = 0;  ///< descriptors
};
[[nodiscard]] ProcessUsage UsageOfProcess();

/// Raises the soft limit of descriptors to `wanted`, as far as the hard limit lets it. Returns the
/// limit that is in force then; `wanted` where there is none.
std::uint64_t AllowOpenFiles(std::uint64_t wanted);

/// Has each fork() call `before` in the parent, then `in_parent` and `in_child`, in the thread that
/// forks; null ones not at all. Functions that were added later are called earlier before and later
/// after. Does nothing where no process forks.
void WatchForks(void (*before)(), void (*in_parent)(), void (*in_child)());

/// From now on the calling thread runs only where no other wants to, as far as the system lets it.
void YieldToAllOthers() noexcept;

/// 32 bits from the system, or from the clock where it has none ready. Never waits. Not for
/// secrets.
[[nodiscard]] std::uint32_t Random() noexcept;

/// "Debian GNU/Linux 12 (bookworm)", "Windows", "macOS 14.5"; and its kernel's version. Empty where
/// the system does not say.
[[nodiscard]] std::string SystemName();
[[nodiscard]] std::string KernelVersion();
[[nodiscard]] std::string HostName();

}  // namespace bittern::os
