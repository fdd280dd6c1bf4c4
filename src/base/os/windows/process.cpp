// SPDX-License-Identifier: Apache-2.0
#include "base/os/process.hpp"

#include <fmt/format.h>
#include <ntsecapi.h>  // after windows.h
#include <psapi.h>

#include <chrono>

#include "base/os/windows/windows.hpp"

namespace bittern::os {
namespace {

/// In seconds; times count 100 nanoseconds.
double Seconds(const FILETIME& time) {
  return 1e-7 * static_cast<double>(std::uint64_t{time.dwHighDateTime} << 32 | time.dwLowDateTime);
}

/// Asked of the kernel itself: GetVersionEx tells what a program's manifest wants to hear.
OSVERSIONINFOW Version() {
  OSVERSIONINFOW version = {};
  version.dwOSVersionInfoSize = sizeof version;
  using Function = LONG(WINAPI*)(OSVERSIONINFOW*);
  const FARPROC found = GetProcAddress(GetModuleHandleW(L"ntdll.dll"), "RtlGetVersion");
  if (found != nullptr) {
    reinterpret_cast<Function>(reinterpret_cast<void*>(found))(&version);
  }
  return version;
}

}  // namespace

long ProcessId() noexcept { return static_cast<long>(GetCurrentProcessId()); }

ProcessUsage UsageOfProcess() {
  constexpr double kUntil1970 = 11644473600.0;  // seconds from 1601 on
  ProcessUsage usage;
  FILETIME start = {}, end = {}, kernel = {}, user = {};
  if (GetProcessTimes(GetCurrentProcess(), &start, &end, &kernel, &user) != 0) {
    usage.cpu_s = Seconds(kernel) + Seconds(user);
    usage.start_time = Seconds(start) - kUntil1970;
  }
  PROCESS_MEMORY_COUNTERS_EX memory = {};
  if (K32GetProcessMemoryInfo(GetCurrentProcess(),
                              reinterpret_cast<PROCESS_MEMORY_COUNTERS*>(&memory),
                              sizeof memory) != 0) {
    usage.resident_bytes = memory.WorkingSetSize;
    usage.virtual_bytes = memory.PrivateUsage;
  }
  DWORD handles = 0;
  if (GetProcessHandleCount(GetCurrentProcess(), &handles) != 0) usage.open_files = handles;
  return usage;
}

/// Sockets are no descriptors here, and there is no limit.
std::uint64_t AllowOpenFiles(std::uint64_t wanted) { return wanted; }

void WatchForks(void (* /*before*/)(), void (* /*in_parent*/)(), void (* /*in_child*/)()) {}

void YieldToAllOthers() noexcept { SetThreadPriority(GetCurrentThread(), THREAD_PRIORITY_IDLE); }

std::uint32_t Random() noexcept {
  std::uint32_t value = 0;
  if (RtlGenRandom(&value, sizeof value) != 0) return value;
  return static_cast<std::uint32_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

std::string SystemName() {
  const OSVERSIONINFOW version = Version();
  constexpr DWORD kFirstOfEleven = 22000;
  if (version.dwMajorVersion != 10) return fmt::format("Windows {}", KernelVersion());
  return version.dwBuildNumber >= kFirstOfEleven ? "Windows 11" : "Windows 10";
}

std::string KernelVersion() {
  const OSVERSIONINFOW version = Version();
  return fmt::format("{}.{}.{}", version.dwMajorVersion, version.dwMinorVersion,
                     version.dwBuildNumber);
}

std::string HostName() {
  wchar_t name[256] = {};
  DWORD size = 255;
  return GetComputerNameExW(ComputerNameDnsHostname, name, &size) != 0 ? Utf8({name, size}) : "";
}

}  // namespace bittern::os
