// SPDX-License-Identifier: Apache-2.0
// Figures and limits of this process, as Linux has them. Any thread.
#pragma once

#include <cstdint>

namespace bittern {

/// A figure that the system does not tell is 0.
struct ProcessUsage {
  double cpu_s = 0;       ///< of all threads
  double start_time = 0;  ///< in seconds since 1970
  std::uint64_t resident_bytes = 0, virtual_bytes = 0;
  std::uint64_t open_files = 0, most_files = 0;  ///< descriptors
};

[[nodiscard]] ProcessUsage UsageOfProcess();

/// Raises the soft limit of descriptors to `wanted`, as far as the hard limit lets it. Returns the
/// limit that is in force then.
std::uint64_t AllowOpenFiles(std::uint64_t wanted);

}  // namespace bittern
