// SPDX-License-Identifier: Apache-2.0
// The default thread count: physical cores that this process may use, by affinity and quota.
#if defined(__linux__)
#include <sched.h>
#endif

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <thread>

#include "base/threads/thread_pool.hpp"

namespace bittern {
namespace {

/// CPUs of the affinity mask: all of them, and one per physical core. Zeros where the system does
/// not say.
struct CpuCounts {
  int cpus, cores;
};

#if defined(__linux__)
/// First token of a one-line file under /sys, or "" where there is none.
std::string ReadToken(const std::string& path) {
  std::ifstream file(path);
  std::string token;
  file >> token;
  return token;
}

/// sysfs names a core by the list of its SMT siblings.
CpuCounts CountUsable() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof(mask), &mask) != 0) return {0, 0};
  std::set<std::string> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &mask)) continue;
    const std::string name = "/sys/devices/system/cpu/cpu" + std::to_string(cpu);
    const std::string siblings = ReadToken(name + "/topology/thread_siblings_list");
    cores.insert(siblings.empty() ? name : siblings);
  }
  return {CPU_COUNT(&mask), static_cast<int>(cores.size())};
}
#else
CpuCounts CountUsable() { return {0, 0}; }
#endif

/// Whole CPUs of the cgroup v2 quota ("max 100000" or "150000 100000"), 0 if unlimited.
int CgroupCpus() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  double quota = 0, period = 0;
  if (!(file >> quota >> period) || period <= 0) return 0;  // "max" fails to parse: no limit
  const int cpus = static_cast<int>(quota / period);
  return cpus < 1 ? 1 : cpus;
}

/// `count`, or what the C++ library knows, within the quota and the pool's limits.
int Limited(int count) {
  if (count == 0) count = static_cast<int>(std::thread::hardware_concurrency());
  const int quota = CgroupCpus();
  if (quota > 0 && quota < count) count = quota;
  return std::clamp(count, 1, ThreadPool::kMaxThreads);
}

}  // namespace

int UsableCpuCount() noexcept { return Limited(CountUsable().cpus); }
int DefaultThreadCount() noexcept { return Limited(CountUsable().cores); }

}  // namespace bittern
