// SPDX-License-Identifier: Apache-2.0
// Figures by sysctl and Mach, folders as Apple's File System Programming Guide names them.
#include <fcntl.h>
#include <libproc.h>
#include <mach/mach.h>
#include <stdlib.h>
#include <sys/sysctl.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <limits>
#include <string>

#include "base/os/cpus.hpp"
#include "base/os/environment.hpp"
#include "base/os/memory.hpp"
#include "base/os/posix/change_time.hpp"
#include "base/os/posix/figures.hpp"
#include "base/os/posix/reserve.hpp"
#include "base/os/process.hpp"

namespace bittern::os {
namespace {

/// A number by its name; 0 where the kernel does not have it.
std::uint64_t Number(const char* name) noexcept {
  std::uint64_t value = 0;  // little-endian, so numbers of 32 bits fit as well
  std::size_t size = sizeof value;
  return sysctlbyname(name, &value, &size, nullptr, 0) == 0 ? value : 0;
}

std::string Text(const char* name) {
  char text[256] = {};
  std::size_t size = sizeof(text) - 1;
  return sysctlbyname(name, text, &size, nullptr, 0) == 0 ? text : "";
}

}  // namespace

timespec ChangeTimeOf(const struct stat& info) noexcept { return info.st_mtimespec; }

void AddFigures(ProcessUsage* usage) {
  mach_task_basic_info info = {};
  mach_msg_type_number_t count = MACH_TASK_BASIC_INFO_COUNT;
  if (task_info(mach_task_self(), MACH_TASK_BASIC_INFO, reinterpret_cast<task_info_t>(&info),
                &count) == KERN_SUCCESS) {
    usage->resident_bytes = info.resident_size;
    usage->virtual_bytes = info.virtual_size;
  }
  const int self = static_cast<int>(ProcessId());
  proc_bsdinfo about = {};
  if (proc_pidinfo(self, PROC_PIDTBSDINFO, 0, &about, sizeof about) == sizeof about) {
    usage->start_time = static_cast<double>(about.pbi_start_tvsec) +
                        1e-6 * static_cast<double>(about.pbi_start_tvusec);
    usage->open_files = about.pbi_nfiles;
  }
}

void WishHugePages(void* /*pages*/, std::size_t /*bytes*/) noexcept {}
std::uint64_t ReadyHugeBytes() noexcept { return std::numeric_limits<std::uint64_t>::max(); }
bool MakeHugePage(void* /*pages*/) noexcept { return true; }
void YieldToAllOthers() noexcept {}

std::uint64_t TotalMemory() { return Number("hw.memsize"); }

/// Free pages, and those that can be dropped at once.
std::uint64_t AvailableMemory() {
  vm_statistics64_data_t figures = {};
  mach_msg_type_number_t count = HOST_VM_INFO64_COUNT;
  if (host_statistics64(mach_host_self(), HOST_VM_INFO64, reinterpret_cast<host_info64_t>(&figures),
                        &count) != KERN_SUCCESS) {
    return 0;
  }
  return (std::uint64_t{figures.free_count} + figures.inactive_count) * PageSize();
}

/// The system makes swap space as it needs it, but one process should not take more than there is.
std::uint64_t RoomForPages() { return TotalMemory(); }

int ReserveBytes(int file, std::size_t bytes) noexcept {
  fstore_t wish = {};
  wish.fst_flags = F_ALLOCATEALL;
  wish.fst_posmode = F_PEOFPOSMODE;
  wish.fst_length = static_cast<off_t>(bytes);
  if (fcntl(file, F_PREALLOCATE, &wish) == -1 && errno == ENOSPC) return -1;
  return ftruncate(file, static_cast<off_t>(bytes));
}

/// Level 0 holds the fast cores, where there are two kinds.
CpuCounts CountCpus() {
  CpuCounts counts = {static_cast<int>(Number("hw.logicalcpu")),
                      static_cast<int>(Number("hw.perflevel0.physicalcpu"))};
  if (counts.cores == 0) counts.cores = static_cast<int>(Number("hw.physicalcpu"));
  return counts;
}

int CpuQuota() { return 0; }
int CurrentCpu() noexcept { return -1; }

double ThreadCpuSeconds() noexcept {
  timespec time = {};
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) != 0) return -1;
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

std::string CpuName() { return Text("machdep.cpu.brand_string"); }

std::size_t LastLevelCacheBytes() {
  for (const char* name : {"hw.l3cachesize", "hw.perflevel0.l2cachesize", "hw.l2cachesize"}) {
    if (const std::uint64_t bytes = Number(name); bytes > 0) return bytes;
  }
  return 0;
}

double HighestClock() { return static_cast<double>(Number("hw.cpufrequency_max")); }

ArmFeatures DetectArmFeatures() noexcept {
  return {Number("hw.optional.arm.FEAT_DotProd") != 0, Number("hw.optional.arm.FEAT_I8MM") != 0};
}

std::uint32_t Random() noexcept { return arc4random(); }

std::string SystemName() { return "macOS " + Text("kern.osproductversion"); }
std::string KernelVersion() { return Text("kern.osrelease"); }

namespace {

/// The folder that `variable` names, else `below` in the user's library.
std::filesystem::path FolderOf(const char* variable, const char* below) {
  const char* folder = Variable(variable);
  if (folder != nullptr && folder[0] == '/') return folder;
  const char* home = Variable("HOME");
  if (home == nullptr || home[0] != '/') return {};
  return std::filesystem::path(home) / "Library" / below;
}

}  // namespace

std::filesystem::path CacheFolder() { return FolderOf("XDG_CACHE_HOME", "Caches"); }
std::filesystem::path StateFolder() { return FolderOf("XDG_STATE_HOME", "Application Support"); }

}  // namespace bittern::os
