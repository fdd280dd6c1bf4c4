// SPDX-License-Identifier: Apache-2.0
#include "base/os/cpus.hpp"

#include <sched.h>
#include <sys/auxv.h>
#include <time.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>

namespace bittern::os {
namespace {

/// First token of a one-line file under /sys, or "" where there is none.
std::string ReadToken(const std::string& path) {
  std::ifstream file(path);
  std::string token;
  file >> token;
  return token;
}

}  // namespace

/// sysfs names a core by the list of its SMT siblings.
CpuCounts CountCpus() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof(mask), &mask) != 0) return {};
  std::set<std::string> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &mask)) continue;
    const std::string name = "/sys/devices/system/cpu/cpu" + std::to_string(cpu);
    const std::string siblings = ReadToken(name + "/topology/thread_siblings_list");
    cores.insert(siblings.empty() ? name : siblings);
  }
  return {CPU_COUNT(&mask), static_cast<int>(cores.size())};
}

/// The cgroup v2 quota: "max 100000" or "150000 100000".
int CpuQuota() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  double quota = 0, period = 0;
  if (!(file >> quota >> period) || period <= 0) return 0;  // "max" fails to parse: no limit
  return std::max(1, static_cast<int>(quota / period));
}

int CurrentCpu() noexcept { return sched_getcpu(); }

double ThreadCpuSeconds() noexcept {
  timespec time = {};
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) != 0) return -1;
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

std::string CpuName() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "";
}

std::size_t LastLevelCacheBytes() {
  std::size_t largest = 0;
  for (int index = 0; index < 8; ++index) {
    std::ifstream in("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/size");
    std::size_t size = 0;
    char unit = 0;
    if (!(in >> size)) continue;
    in >> unit;
    largest = std::max(largest, size << (unit == 'M' ? 20 : unit == 'K' ? 10 : 0));
  }
  return largest;
}

double HighestClock() {
  std::ifstream in("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");
  double khz = 0;
  return in >> khz ? 1e3 * khz : 0;
}

/// Bits of the kernel's interface (Documentation/arch/arm64/elf_hwcaps.rst); spelt out, since old
/// headers lack the second.
ArmFeatures DetectArmFeatures() noexcept {
#if defined(__aarch64__)
  constexpr unsigned long kDotProduct = 1UL << 20;  // HWCAP_ASIMDDP
  constexpr unsigned long kInt8Matrix = 1UL << 13;  // HWCAP2_I8MM
  return {(getauxval(AT_HWCAP) & kDotProduct) != 0, (getauxval(AT_HWCAP2) & kInt8Matrix) != 0};
#else
  return {};
#endif
}

}  // namespace bittern::os
