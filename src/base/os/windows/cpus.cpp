// SPDX-License-Identifier: Apache-2.0
// Groups of at most 64 processors; a process has threads in all of them since Windows 11, and in
// one before.
#include "base/os/cpus.hpp"

#include <cpuid.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "base/os/windows/windows.hpp"

namespace bittern::os {
namespace {

using Information = SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX;

/// Calls visit(entry) for each core, cache or group.
template <class Visit>
void ForEach(LOGICAL_PROCESSOR_RELATIONSHIP kind, const Visit& visit) {
  DWORD size = 0;
  GetLogicalProcessorInformationEx(kind, nullptr, &size);
  std::vector<std::byte> bytes(size);
  auto* first = reinterpret_cast<Information*>(bytes.data());
  if (size == 0 || GetLogicalProcessorInformationEx(kind, first, &size) == 0) return;
  for (DWORD at = 0; at < size;) {
    const auto* entry = reinterpret_cast<const Information*>(bytes.data() + at);
    visit(*entry);
    at += entry->Size;
  }
}

}  // namespace

/// The affinity of a process is a mask of its own group; processors of others are all usable.
CpuCounts CountCpus() {
  DWORD_PTR allowed = 0, system = 0;
  GetProcessAffinityMask(GetCurrentProcess(), &allowed, &system);
  if (allowed == 0) allowed = ~DWORD_PTR{0};
  PROCESSOR_NUMBER here = {};
  GetCurrentProcessorNumberEx(&here);
  CpuCounts counts;
  int fast = -1;
  ForEach(RelationProcessorCore, [&](const Information& entry) {
    int usable = 0;
    for (WORD i = 0; i < entry.Processor.GroupCount; ++i) {
      const GROUP_AFFINITY& part = entry.Processor.GroupMask[i];
      usable += std::popcount(part.Group == here.Group ? part.Mask & allowed : part.Mask);
    }
    counts.cpus += usable;
    // EfficiencyClass, which older headers do not name: it follows the flags.
    const int speed = reinterpret_cast<const BYTE*>(&entry.Processor)[1];
    if (usable == 0 || speed < fast) return;
    counts.cores = speed > fast ? 1 : counts.cores + 1;
    fast = speed;
  });
  return counts;
}

/// A job's hard limit counts parts of 10,000 of all processors.
int CpuQuota() {
  JOBOBJECT_CPU_RATE_CONTROL_INFORMATION info = {};
  constexpr DWORD kHard = JOB_OBJECT_CPU_RATE_CONTROL_ENABLE | JOB_OBJECT_CPU_RATE_CONTROL_HARD_CAP;
  if (QueryInformationJobObject(nullptr, JobObjectCpuRateControlInformation, &info, sizeof info,
                                nullptr) == 0 ||
      (info.ControlFlags & kHard) != kHard) {
    return 0;
  }
  const DWORD all = GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
  return std::max(1, static_cast<int>(all * info.CpuRate / 10000));
}

int CurrentCpu() noexcept {
  PROCESSOR_NUMBER here = {};
  GetCurrentProcessorNumberEx(&here);
  return here.Group * 64 + here.Number;
}

/// GetThreadTimes counts ticks of 15 ms, which is longer than most passes.
double ThreadCpuSeconds() noexcept { return -1; }

/// The CPU itself tells.
std::string CpuName() {
  constexpr unsigned kFirst = 0x80000002u;
  std::string name;
  for (unsigned leaf = kFirst; leaf < kFirst + 3; ++leaf) {
    unsigned words[4] = {};
    if (__get_cpuid(leaf, &words[0], &words[1], &words[2], &words[3]) == 0) return "";
    char text[sizeof words];
    std::memcpy(text, words, sizeof words);
    name.append(text, sizeof text);
  }
  name.resize(std::min(name.find('\0'), name.size()));
  name.erase(0, name.find_first_not_of(' '));
  return name.substr(0, name.find_last_not_of(' ') + 1);
}

std::size_t LastLevelCacheBytes() {
  std::size_t largest = 0;
  ForEach(RelationCache, [&](const Information& entry) {
    largest = std::max<std::size_t>(largest, entry.Cache.CacheSize);
  });
  return largest;
}

double HighestClock() {
  DWORD mhz = 0, size = sizeof mhz;
  const LSTATUS status =
      RegGetValueW(HKEY_LOCAL_MACHINE, L"HARDWARE\\DESCRIPTION\\System\\CentralProcessor\\0",
                   L"~MHz", RRF_RT_REG_DWORD, nullptr, &mhz, &size);
  return status == 0 ? 1e6 * mhz : 0;
}

ArmFeatures DetectArmFeatures() noexcept { return {}; }

}  // namespace bittern::os
