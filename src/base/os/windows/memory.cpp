// SPDX-License-Identifier: Apache-2.0
// Mappings, and reads of mapped bytes that cannot be had (EXCEPTION_IN_PAGE_ERROR: a network drive
// that went away; a local file that is mapped cannot be cut off here). A vectored handler sees them
// before anything else does.
#include "base/os/memory.hpp"

#include <io.h>

#include <atomic>
#include <cerrno>
#include <limits>

#include "base/os/windows/windows.hpp"

namespace bittern::os {
namespace {

bool (*replace_at)(std::uintptr_t address) noexcept = nullptr;

LONG CALLBACK OnException(EXCEPTION_POINTERS* exception) {
  const EXCEPTION_RECORD& record = *exception->ExceptionRecord;
  constexpr ULONG_PTR kRead = 0;
  const bool of_a_read = (record.ExceptionCode == static_cast<DWORD>(EXCEPTION_IN_PAGE_ERROR) ||
                          record.ExceptionCode == static_cast<DWORD>(EXCEPTION_ACCESS_VIOLATION)) &&
                         record.NumberParameters >= 2 && record.ExceptionInformation[0] == kRead;
  return of_a_read && replace_at(record.ExceptionInformation[1]) ? EXCEPTION_CONTINUE_EXECUTION
                                                                 : EXCEPTION_CONTINUE_SEARCH;
}

/// Held while a view becomes zeros. Another thread that reads there meanwhile comes here, too.
std::atomic_flag replacing;

MEMORYSTATUSEX MemoryStatus() {
  MEMORYSTATUSEX status = {};
  status.dwLength = sizeof status;
  GlobalMemoryStatusEx(&status);
  return status;
}

}  // namespace

std::size_t PageSize() noexcept {
  static const std::size_t size = [] {
    SYSTEM_INFO info = {};
    GetSystemInfo(&info);
    return static_cast<std::size_t>(info.dwPageSize);
  }();
  return size;
}

void* TakePages(std::size_t bytes) noexcept {
  return VirtualAlloc(nullptr, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

void* TakePagesOnDisk(const std::filesystem::path& /*folder*/, std::size_t bytes) noexcept {
  void* const pages = TakePages(bytes);
  if (pages == nullptr) errno = ENOMEM;
  return pages;
}

int WriteOut(void* /*pages*/, std::size_t /*bytes*/) noexcept { return 0; }

void GivePages(void* pages, std::size_t /*bytes*/) noexcept { VirtualFree(pages, 0, MEM_RELEASE); }

bool SetAccess(void* pages, std::size_t bytes, bool allowed) noexcept {
  DWORD before = 0;
  return VirtualProtect(pages, bytes, allowed ? PAGE_READWRITE : PAGE_NOACCESS, &before) != 0;
}

/// Large pages need a privilege that users do not have.
void WishHugePages(void* /*pages*/, std::size_t /*bytes*/) noexcept {}
std::uint64_t ReadyHugeBytes() noexcept { return std::numeric_limits<std::uint64_t>::max(); }
bool MakeHugePage(void* /*pages*/) noexcept { return true; }

const std::byte* MapFile(int file, std::size_t bytes) noexcept {
  const auto handle = reinterpret_cast<HANDLE>(_get_osfhandle(file));
  const HANDLE mapping = CreateFileMappingW(handle, nullptr, PAGE_READONLY, 0, 0, nullptr);
  if (mapping == nullptr) {
    FailedCall();
    return nullptr;
  }
  const void* data = MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, bytes);
  if (data == nullptr) FailedCall();
  CloseHandle(mapping);  // the view keeps it
  return static_cast<const std::byte*>(data);
}

/// Zeros of ReplaceByZeros are pages of their own.
void UnmapFile(const std::byte* data, std::size_t /*bytes*/) noexcept {
  auto* view = const_cast<std::byte*>(data);
  if (UnmapViewOfFile(view) == 0) VirtualFree(view, 0, MEM_RELEASE);
}

/// Unlocking pages that are not locked takes them out of the working set.
void ReleasePages(std::span<const std::byte> part) noexcept {
  const auto page = static_cast<std::uintptr_t>(PageSize());
  const auto first = (reinterpret_cast<std::uintptr_t>(part.data()) + page - 1) & ~(page - 1);
  const auto last = reinterpret_cast<std::uintptr_t>(part.data() + part.size()) & ~(page - 1);
  if (first < last) VirtualUnlock(reinterpret_cast<void*>(first), last - first);
}

/// A view cannot be replaced in part. Between the two calls the addresses are free, and a thread
/// that reads there waits for `replacing`.
bool ReplaceByZeros(std::uintptr_t begin, std::uintptr_t address, std::uintptr_t end) noexcept {
  while (replacing.test_and_set(std::memory_order_acquire)) Sleep(0);
  MEMORY_BASIC_INFORMATION now = {};
  VirtualQuery(reinterpret_cast<void*>(address), &now, sizeof now);
  bool replaced = now.State == MEM_COMMIT && now.Type == MEM_PRIVATE;  // by another thread
  if (!replaced) {
    auto* view = reinterpret_cast<void*>(begin);
    UnmapViewOfFile(view);
    replaced = VirtualAlloc(view, end - begin, MEM_RESERVE | MEM_COMMIT, PAGE_READONLY) != nullptr;
  }
  replacing.clear(std::memory_order_release);
  return replaced;
}

int OnReadFault(bool (*replace)(std::uintptr_t address) noexcept) {
  replace_at = replace;
  (void)PageSize();
  return AddVectoredExceptionHandler(/*first=*/1, OnException) != nullptr ? 0 : FailedCall();
}

std::uint64_t TotalMemory() { return MemoryStatus().ullTotalPhys; }
/// The page file grows.
std::uint64_t RoomForPages() { return 0; }
std::uint64_t AvailableMemory() { return MemoryStatus().ullAvailPhys; }

}  // namespace bittern::os
