// SPDX-License-Identifier: Apache-2.0
#include "serve/api/llama/metrics_text.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>

namespace bittern::serve {
namespace {

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

/// Fields of /proc/self/statm: all pages, and those that are resident.
struct ProcessPages {
  std::uint64_t all = 0, resident = 0;
};

ProcessPages ReadPages() {
  ProcessPages pages;
  std::ifstream("/proc/self/statm") >> pages.all >> pages.resident;
  return pages;
}

/// When the process began, in seconds since 1970: the time now, less its age by /proc. The name of
/// the program, in brackets, may hold blanks.
double StartTime() {
  std::ifstream file("/proc/self/stat");
  std::string line, skipped;
  std::getline(file, line);
  std::ifstream uptime_file("/proc/uptime");
  double uptime = 0, ticks = 0;
  uptime_file >> uptime;
  std::size_t at = line.rfind(')');
  for (int field = 2; field < 22 && at != std::string::npos; ++field) at = line.find(' ', at + 1);
  if (at == std::string::npos) return 0;
  ticks = std::strtod(line.c_str() + at, nullptr);
  return static_cast<double>(std::time(nullptr)) - uptime +
         ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace

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

/// The names are those of Prometheus' own client libraries.
void MetricsText::AddProcess(std::string_view version) {
  Begin("bittern_build_info", "gauge", "The version of the program; always 1.");
  text_ += fmt::format("bittern_build_info{{version=\"{}\"}} 1\n", version);
  rusage used = {};
  (void)getrusage(RUSAGE_SELF, &used);
  rlimit files = {};
  (void)getrlimit(RLIMIT_NOFILE, &files);
  const ProcessPages pages = ReadPages();
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  std::error_code error;
  const std::filesystem::directory_iterator open("/proc/self/fd", error);
  const auto count = error ? 0 : std::distance(begin(open), end(open));
  Add("process_cpu_seconds_total", "counter", "CPU time of the program, in seconds.",
      Seconds(used.ru_utime) + Seconds(used.ru_stime));
  Add("process_resident_memory_bytes", "gauge", "Memory that is resident.", pages.resident * page);
  Add("process_virtual_memory_bytes", "gauge", "Addresses in use.", pages.all * page);
  Add("process_open_fds", "gauge", "File descriptors that are open.", count);
  Add("process_max_fds", "gauge", "File descriptors that may be open.", files.rlim_cur);
  Add("process_start_time_seconds", "gauge", "When the program began, in seconds since 1970.",
      StartTime());
}

}  // namespace bittern::serve
