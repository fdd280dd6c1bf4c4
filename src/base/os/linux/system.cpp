// SPDX-License-Identifier: Apache-2.0
// Figures of /proc, huge pages, random numbers, the folders of the XDG specification.
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>

#include "base/os/environment.hpp"
#include "base/os/memory.hpp"
#include "base/os/posix/change_time.hpp"
#include "base/os/posix/figures.hpp"
#include "base/os/process.hpp"

namespace bittern::os {
namespace {

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
  std::string line;
  std::getline(file, line);
  std::ifstream uptime_file("/proc/uptime");
  double uptime = 0;
  uptime_file >> uptime;
  std::size_t at = line.rfind(')');
  for (int field = 2; field < 22 && at != std::string::npos; ++field) at = line.find(' ', at + 1);
  if (at == std::string::npos) return 0;
  const double ticks = std::strtod(line.c_str() + at, nullptr);
  return static_cast<double>(std::time(nullptr)) - uptime +
         ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

/// A line "NAME:   12345 kB" of /proc/meminfo, in bytes.
std::uint64_t MemoryFigure(std::string_view name) {
  std::ifstream info("/proc/meminfo");
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with(name)) continue;
    return std::strtoull(line.c_str() + name.size(), nullptr, 10) * 1024;
  }
  return 0;
}

std::string FirstLine(const char* path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

/// An absolute folder in an environment variable; relative ones are ignored, as the XDG base
/// directory specification says.
std::filesystem::path FolderIn(const char* variable) {
  const char* value = Variable(variable);
  return value != nullptr && value[0] == '/' ? value : "";
}

}  // namespace

timespec ChangeTimeOf(const struct stat& info) noexcept { return info.st_mtim; }

void AddFigures(ProcessUsage* usage) {
  const ProcessPages pages = ReadPages();
  usage->start_time = StartTime();
  usage->resident_bytes = pages.resident * PageSize();
  usage->virtual_bytes = pages.all * PageSize();
  std::error_code error;
  const std::filesystem::directory_iterator open("/proc/self/fd", error);
  usage->open_files = error ? 0 : static_cast<std::uint64_t>(std::distance(begin(open), end(open)));
}

void WishHugePages(void* pages, std::size_t bytes) noexcept {
  madvise(pages, bytes, MADV_HUGEPAGE);
}

/// /proc/buddyinfo: "Node 0, zone Normal" and the free blocks of 2^0, 2^1, ... pages.
std::uint64_t ReadyHugeBytes() noexcept {
  constexpr std::uint64_t kNotTold = std::numeric_limits<std::uint64_t>::max();
  if (FirstLine("/sys/kernel/mm/transparent_hugepage/enabled").ends_with("[never]"))
    return kNotTold;
  std::FILE* file = std::fopen("/proc/buddyinfo", "re");
  if (file == nullptr) return kNotTold;
  constexpr int kOrder = 9;  // 2 MiB of pages of 4 KiB
  std::uint64_t pages = 0;
  char line[512];
  while (std::fgets(line, sizeof line, file) != nullptr) {
    const char* at = std::strstr(line, "zone");
    if (at == nullptr) continue;
    at += std::strcspn(at, " ");
    at += std::strspn(at, " ");
    at += std::strcspn(at, " ");  // the zone's name
    char* end = nullptr;
    for (int order = 0;; ++order, at = end) {
      const std::uint64_t blocks = std::strtoull(at, &end, 10);
      if (end == at) break;
      if (order >= kOrder) pages += blocks << order;
    }
  }
  std::fclose(file);
  return pages * PageSize();
}

bool MakeHugePage(void* pages) noexcept {
  constexpr int kCollapse = 25;  // MADV_COLLAPSE, of Linux 6.1; older kernels say EINVAL
  constexpr std::size_t kHugePage = std::size_t{2} << 20;
  return madvise(pages, kHugePage, kCollapse) == 0 || errno == EINVAL;
}

void YieldToAllOthers() noexcept {
  const sched_param none{};
  static_cast<void>(sched_setscheduler(0, SCHED_IDLE, &none));
}

std::uint64_t TotalMemory() { return MemoryFigure("MemTotal:"); }
std::uint64_t AvailableMemory() { return MemoryFigure("MemAvailable:"); }

std::uint32_t Random() noexcept {
  std::uint32_t value = 0;
  constexpr unsigned kDoNotWait = 1;  // GRND_NONBLOCK; glibc has the function from 2.25 on alone
  if (syscall(SYS_getrandom, &value, sizeof value, kDoNotWait) == sizeof value) return value;
  return static_cast<std::uint32_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

std::string SystemName() {
  constexpr std::string_view kKey = "PRETTY_NAME=";
  std::ifstream in("/etc/os-release");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(kKey)) continue;
    std::string value = line.substr(kKey.size());
    std::erase(value, '"');
    return value;
  }
  return "";
}

std::string KernelVersion() { return FirstLine("/proc/sys/kernel/osrelease"); }

std::filesystem::path CacheFolder() {
  std::filesystem::path cache = FolderIn("XDG_CACHE_HOME");
  if (!cache.empty()) return cache;
  const std::filesystem::path home = FolderIn("HOME");
  return home.empty() ? home : home / ".cache";
}

std::filesystem::path StateFolder() {
  std::filesystem::path state = FolderIn("XDG_STATE_HOME");
  if (!state.empty()) return state;
  const std::filesystem::path home = FolderIn("HOME");
  return home.empty() ? home : home / ".local" / "state";
}

}  // namespace bittern::os
