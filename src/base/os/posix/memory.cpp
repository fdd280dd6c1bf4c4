// SPDX-License-Identifier: Apache-2.0
// Mappings, and SIGBUS. The handler calls mmap, which is a bare system call on the systems that we
// know; ReplaceByZeros may thus be called in it.
#include "base/os/memory.hpp"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <string>

#include "base/os/posix/reserve.hpp"

namespace bittern::os {
namespace {

bool (*replace_at)(std::uintptr_t address) noexcept = nullptr;
struct sigaction previous = {};

/// Does as the system would without this handler.
void PassOn(int signal, siginfo_t* info, void* context) noexcept {
  if ((previous.sa_flags & SA_SIGINFO) != 0) return previous.sa_sigaction(signal, info, context);
  if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
    return previous.sa_handler(signal);
  }
  // The read is tried again and ends the process. One that was sent by kill() is not.
  ::signal(signal, SIG_DFL);
  if (info->si_code <= 0) raise(signal);
}

extern "C" void OnBusError(int signal, siginfo_t* info, void* context) {
  const int saved = errno;
  const bool of_a_read = info->si_code == BUS_ADRERR || info->si_code == BUS_OBJERR;
  const bool replaced = of_a_read && replace_at(reinterpret_cast<std::uintptr_t>(info->si_addr));
  errno = saved;
  if (!replaced) PassOn(signal, info, context);
}

}  // namespace

std::size_t PageSize() noexcept {
  static const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

void* TakePages(std::size_t bytes) noexcept {
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return pages == MAP_FAILED ? nullptr : pages;
}

void* TakePagesOnDisk(const std::filesystem::path& folder, std::size_t bytes) noexcept {
  int file = -1;
  try {
    std::string name = (folder / "bittern-XXXXXX").string();
    file = mkstemp(name.data());
    if (file >= 0) unlink(name.c_str());
  } catch (const std::bad_alloc&) {
    errno = ENOMEM;
  }
  if (file < 0) return nullptr;
  fcntl(file, F_SETFD, FD_CLOEXEC);
  void* pages = MAP_FAILED;
  if (ReserveBytes(file, bytes) == 0) {
    pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  const int code = errno;
  close(file);  // the mapping keeps it
  errno = code;
  return pages == MAP_FAILED ? nullptr : pages;
}

int WriteOut(void* pages, std::size_t bytes) noexcept { return msync(pages, bytes, MS_SYNC); }

void GivePages(void* pages, std::size_t bytes) noexcept { munmap(pages, bytes); }

bool SetAccess(void* pages, std::size_t bytes, bool allowed) noexcept {
  return mprotect(pages, bytes, allowed ? PROT_READ | PROT_WRITE : PROT_NONE) == 0;
}

const std::byte* MapFile(int file, std::size_t bytes) noexcept {
  void* data = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file, 0);
  return data == MAP_FAILED ? nullptr : static_cast<const std::byte*>(data);
}

void UnmapFile(const std::byte* data, std::size_t bytes) noexcept {
  munmap(const_cast<std::byte*>(data), bytes);
}

void ReleasePages(std::span<const std::byte> part) noexcept {
  const auto page = static_cast<std::uintptr_t>(PageSize());
  const auto first = (reinterpret_cast<std::uintptr_t>(part.data()) + page - 1) & ~(page - 1);
  const auto last = reinterpret_cast<std::uintptr_t>(part.data() + part.size()) & ~(page - 1);
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

/// A file that ends before the page of `address` has nothing after it either.
bool ReplaceByZeros(std::uintptr_t /*begin*/, std::uintptr_t address, std::uintptr_t end) noexcept {
  const std::uintptr_t page = address & ~(static_cast<std::uintptr_t>(PageSize()) - 1);
  return mmap(reinterpret_cast<void*>(page), end - page, PROT_READ,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
}

int OnReadFault(bool (*replace)(std::uintptr_t address) noexcept) {
  replace_at = replace;
  (void)PageSize();  // asked once, outside of the handler
  struct sigaction action = {};
  action.sa_sigaction = OnBusError;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  return sigaction(SIGBUS, nullptr, &previous) != 0 ? -1 : sigaction(SIGBUS, &action, nullptr);
}

}  // namespace bittern::os
