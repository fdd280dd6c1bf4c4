// SPDX-License-Identifier: Apache-2.0
// A system of which only POSIX is known: all else is left out or asked of the C++ library. It is
// built on Linux as well (-DBITTERN_SYSTEM=plain), so that what Linux alone has cannot creep into
// the code that other systems run.
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>

#include "base/os/cpus.hpp"
#include "base/os/environment.hpp"
#include "base/os/memory.hpp"
#include "base/os/posix/change_time.hpp"
#include "base/os/posix/figures.hpp"
#include "base/os/posix/reserve.hpp"
#include "base/os/process.hpp"

namespace bittern::os {

timespec ChangeTimeOf(const struct stat& info) noexcept { return info.st_mtim; }
void AddFigures(ProcessUsage* /*usage*/) {}
void WishHugePages(void* /*pages*/, std::size_t /*bytes*/) noexcept {}
std::uint64_t ReadyHugeBytes() noexcept { return std::numeric_limits<std::uint64_t>::max(); }
bool MakeHugePage(void* /*pages*/) noexcept { return true; }
void YieldToAllOthers() noexcept {}
std::uint64_t TotalMemory() { return 0; }
std::uint64_t AvailableMemory() { return 0; }
std::uint64_t RoomForPages() { return 0; }
int ReserveBytes(int file, std::size_t bytes) noexcept {
  return ftruncate(file, static_cast<off_t>(bytes));
}

CpuCounts CountCpus() { return {}; }
int CpuQuota() { return 0; }
int CurrentCpu() noexcept { return -1; }
double ThreadCpuSeconds() noexcept { return -1; }
std::string CpuName() { return ""; }
std::size_t LastLevelCacheBytes() { return 0; }
double HighestClock() { return 0; }
ArmFeatures DetectArmFeatures() noexcept { return {}; }

std::uint32_t Random() noexcept {
  std::uint32_t value = 0;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> source(std::fopen("/dev/urandom", "rb"),
                                                               &std::fclose);
  if (source && std::fread(&value, sizeof value, 1, source.get()) == 1) return value;
  return static_cast<std::uint32_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

std::string SystemName() {
  utsname name = {};
  return uname(&name) < 0 ? "" : name.sysname;
}

std::string KernelVersion() {
  utsname name = {};
  return uname(&name) < 0 ? "" : name.release;
}

namespace {

/// The folder that `variable` names, else `below` in the user's home.
std::filesystem::path FolderOf(const char* variable, const char* below) {
  for (const auto& [name, part] : {std::pair(variable, ""), {"HOME", below}}) {
    const char* folder = Variable(name);
    if (folder != nullptr && folder[0] == '/') return std::filesystem::path(folder) / part;
  }
  return {};
}

}  // namespace

std::filesystem::path CacheFolder() { return FolderOf("XDG_CACHE_HOME", ".cache"); }
std::filesystem::path StateFolder() { return FolderOf("XDG_STATE_HOME", ".local/state"); }

}  // namespace bittern::os
