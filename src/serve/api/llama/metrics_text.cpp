// SPDX-License-Identifier: Apache-2.0
#include "serve/api/llama/metrics_text.hpp"

#include "base/os/process.hpp"

namespace bittern::serve {
/// Buckets count all times up to their bound, so each holds those before it.
void MetricsText::AddTimes(std::string_view name, std::string_view help,
                           const TimeHistogram& times) {
  Begin(name, "histogram", help);
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < TimeHistogram::kBounds.size(); ++i) {
    below += times.count(i);
    text_ += fmt::format("{}_bucket{{le=\"{}\"}} {}\n", name, TimeHistogram::kBounds[i], below);
  }
  below += times.count(TimeHistogram::kBounds.size());
  text_ += fmt::format("{0}_bucket{{le=\"+Inf\"}} {1}\n{0}_sum {2}\n{0}_count {1}\n", name, below,
                       times.sum());
}

/// Prometheus' own client libraries give these names to the same figures.
void MetricsText::AddProcess(std::string_view version) {
  Begin("bittern_build_info", "gauge", "The version of the program; always 1.");
  text_ += fmt::format("bittern_build_info{{version=\"{}\"}} 1\n", version);
  const os::ProcessUsage usage = os::UsageOfProcess();
  Add("process_cpu_seconds_total", "counter", "CPU time of the program, in seconds.", usage.cpu_s);
  const auto add_told = [this](std::string_view name, std::string_view help, auto figure) {
    if (figure != 0) Add(name, "gauge", help, figure);  // 0: the system does not tell
  };
  add_told("process_resident_memory_bytes", "Memory that is resident.", usage.resident_bytes);
  add_told("process_virtual_memory_bytes", "Addresses in use.", usage.virtual_bytes);
  add_told("process_open_fds", "File descriptors that are open.", usage.open_files);
  add_told("process_max_fds", "File descriptors that may be open.", usage.most_files);
  add_told("process_start_time_seconds", "When the program began, in seconds since 1970.",
           usage.start_time);
}

}  // namespace bittern::serve
