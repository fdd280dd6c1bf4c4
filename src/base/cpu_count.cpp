// SPDX-License-Identifier: Apache-2.0
// The default thread count: physical cores that this process may use, by affinity and quota.
#include <sched.h>

#include <fstream>
#include <set>
#include <string>
#include <thread>

#include "base/thread_pool.hpp"

namespace bittern {
namespace {

/// First token of a one-line file under /sys, or "" where there is none.
std::string ReadToken(const std::string& path) {
  std::ifstream file(path);
  std::string token;
  file >> token;
  return token;
}

/// CPUs of the affinity mask, counting SMT siblings once (sysfs names a core by its siblings).
int UsableCores() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof(mask), &mask) != 0) return 0;
  std::set<std::string> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &mask)) continue;
    const std::string name = "/sys/devices/system/cpu/cpu" + std::to_string(cpu);
    const std::string siblings = ReadToken(name + "/topology/thread_siblings_list");
    cores.insert(siblings.empty() ? name : siblings);
  }
  return static_cast<int>(cores.size());
}

/// Whole CPUs of the cgroup v2 quota ("max 100000" or "150000 100000"), 0 if unlimited.
int CgroupCpus() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  double quota = 0, period = 0;
  if (!(file >> quota >> period) || period <= 0) return 0;  // "max" fails to parse: no limit
  const int cpus = static_cast<int>(quota / period);
  return cpus < 1 ? 1 : cpus;
}

}  // namespace

int DefaultThreadCount() noexcept {
  int count = UsableCores();
  if (count == 0) count = static_cast<int>(std::thread::hardware_concurrency());
  const int quota = CgroupCpus();
  if (quota > 0 && quota < count) count = quota;
  return count < 1 ? 1 : count > ThreadPool::kMaxThreads ? ThreadPool::kMaxThreads : count;
}

}  // namespace bittern
