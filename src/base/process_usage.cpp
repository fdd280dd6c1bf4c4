// SPDX-License-Identifier: Apache-2.0
#include "base/process_usage.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace bittern {
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

ProcessUsage UsageOfProcess() {
  rusage used = {};
  (void)getrusage(RUSAGE_SELF, &used);
  rlimit files = {};
  (void)getrlimit(RLIMIT_NOFILE, &files);
  const ProcessPages pages = ReadPages();
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  std::error_code error;
  const std::filesystem::directory_iterator open("/proc/self/fd", error);
  const auto count = error ? 0 : std::distance(begin(open), end(open));
  return {.cpu_s = Seconds(used.ru_utime) + Seconds(used.ru_stime),
          .start_time = StartTime(),
          .resident_bytes = pages.resident * page,
          .virtual_bytes = pages.all * page,
          .open_files = static_cast<std::uint64_t>(count),
          .most_files = files.rlim_cur};
}

std::uint64_t AllowOpenFiles(std::uint64_t wanted) {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlim_t raised = std::min<rlim_t>(wanted, limit.rlim_max);
  if (raised <= limit.rlim_cur) return limit.rlim_cur;
  limit.rlim_cur = raised;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) (void)getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

}  // namespace bittern
