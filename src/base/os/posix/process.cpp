// SPDX-License-Identifier: Apache-2.0
#include "base/os/process.hpp"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "base/os/posix/figures.hpp"

namespace bittern::os {
namespace {

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

}  // namespace

long ProcessId() noexcept { return getpid(); }

ProcessUsage UsageOfProcess() {
  rusage used = {};
  (void)getrusage(RUSAGE_SELF, &used);
  rlimit files = {};
  (void)getrlimit(RLIMIT_NOFILE, &files);
  ProcessUsage usage;
  usage.cpu_s = Seconds(used.ru_utime) + Seconds(used.ru_stime);
  usage.most_files = files.rlim_cur;
  AddFigures(&usage);
  return usage;
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

void WatchForks(void (*before)(), void (*in_parent)(), void (*in_child)()) {
  pthread_atfork(before, in_parent, in_child);
}

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "";
}

}  // namespace bittern::os
