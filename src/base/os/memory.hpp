// SPDX-License-Identifier: Apache-2.0
// Takes fresh pages of memory and maps files. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace bittern::os {

[[nodiscard]] std::size_t PageSize() noexcept;

/// Fresh pages, which are zero and cost nothing until they are touched; null without memory.
[[nodiscard]] void* TakePages(std::size_t bytes) noexcept;
/// Fresh pages of a file without a name in a folder; the file goes with them. The system may drop
/// their memory and read them again. The bytes are reserved on the disk, where the file system can
/// do that. Windows keeps a file for all pages, so there these are TakePages. Null and errno.
[[nodiscard]] void* TakePagesOnDisk(const std::filesystem::path& folder,
                                    std::size_t bytes) noexcept;
/// Writes pages of TakePagesOnDisk to the disk and waits for that. 0, or -1 and errno.
[[nodiscard]] int WriteOut(void* pages, std::size_t bytes) noexcept;
/// Gives back what TakePages or TakePagesOnDisk returned.
void GivePages(void* pages, std::size_t bytes) noexcept;
/// Takes away the right to read and write whole pages of TakePages, or gives it back, so that a
/// test finds a read that must not happen. False if the system refuses.
[[nodiscard]] bool SetAccess(void* pages, std::size_t bytes, bool allowed) noexcept;
/// A wish that costs only speed where it is refused. Whole pages of TakePages.
void WishHugePages(void* pages, std::size_t bytes) noexcept;
/// Bytes of huge pages that lie ready, so that they come at once; the largest number where the
/// system does not say.
[[nodiscard]] std::uint64_t ReadyHugeBytes() noexcept;
/// Moves 2 MiB of TakePages, at such a border, into a huge page, which takes milliseconds where
/// none lies ready. Memory that was never touched stays so. False if the system has no room for
/// one.
bool MakeHugePage(void* pages) noexcept;

/// The first `bytes` of a file, read-only; null and errno. The file may be closed afterwards.
[[nodiscard]] const std::byte* MapFile(int file, std::size_t bytes) noexcept;
void UnmapFile(const std::byte* data, std::size_t bytes) noexcept;
/// Whole pages inside a part of a mapped file stop counting as resident; reading them later works.
void ReleasePages(std::span<const std::byte> part) noexcept;

/// Puts zeros where a mapped file was, from the page of `address` to `end`, or in all of
/// [begin, end) where the system cannot replace a part. Safe in OnReadFault's function. False if
/// the system refuses.
[[nodiscard]] bool ReplaceByZeros(std::uintptr_t begin, std::uintptr_t address,
                                  std::uintptr_t end) noexcept;

/// From now on `replace(address)` is called, in the thread that reads, when a read of mapped memory
/// meets bytes that the file does not have any more. True: the read is tried again. False: what
/// would have happened without this happens. Installs a handler for the whole process; called once.
/// `replace` takes no lock and allocates nothing. 0, or -1 and errno.
[[nodiscard]] int OnReadFault(bool (*replace)(std::uintptr_t address) noexcept);

/// Bytes of main memory, and of those that can be had without driving out others' pages; 0 where
/// the system does not say.
[[nodiscard]] std::uint64_t TotalMemory();
[[nodiscard]] std::uint64_t AvailableMemory();
/// Bytes that TakePages can still give: memory and swap space on disks, within the limits of a
/// container. 0 where the system does not say, or makes room by itself.
[[nodiscard]] std::uint64_t RoomForPages();

}  // namespace bittern::os
