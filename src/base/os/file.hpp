// SPDX-License-Identifier: Apache-2.0
// Files as the operating system has them: descriptors, names, locks. Names are UTF-8 or of type
// path, as long as the file system allows. A function that fails returns -1, or null, and sets
// errno; std::strerror puts that in words on every system. Any thread; a descriptor is used by one
// thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <span>

namespace bittern::os {

/// True of the errno values that mean that no space is left, or none for this user.
[[nodiscard]] bool IsDiskFull(int code) noexcept;

/// For reading. Never waits for a pipe's other end.
[[nodiscard]] int OpenToRead(const std::filesystem::path& path) noexcept;
/// A new file for writing; EEXIST where the name is in use.
[[nodiscard]] int OpenNew(const std::filesystem::path& path) noexcept;
/// For reading, and for writing at its end; made where it is missing. A link that has the name is
/// refused, since another user may have put it there.
[[nodiscard]] int OpenToGrow(const std::filesystem::path& path) noexcept;

/// 0 or -1. The descriptor is closed in either case.
int Close(int file) noexcept;

/// Bytes read, 0 at the end of the file. Goes on after a signal.
[[nodiscard]] std::int64_t ReadAt(int file, std::span<std::byte> bytes,
                                  std::uint64_t offset) noexcept;
/// Bytes written, which may be fewer than asked. Goes on after a signal.
[[nodiscard]] std::int64_t Write(int file, std::span<const std::byte> bytes) noexcept;
/// Sends what was written to the disk. A file system that cannot do that is no error.
[[nodiscard]] int Sync(int file) noexcept;
/// Sets the size.
[[nodiscard]] int Resize(int file, std::uint64_t size) noexcept;

struct FileState {
  std::uint64_t size = 0;
  std::int64_t changed_s = 0, changed_ns = 0;  ///< when its contents changed last
  bool is_regular = false;
};
[[nodiscard]] int StateOf(int file, FileState* state) noexcept;
/// Gives a file the permissions of another one. Failing to is no error.
void CopyPermissions(const std::filesystem::path& from, int to) noexcept;

/// Renames a file, replacing what has the name, in one step.
[[nodiscard]] int Replace(const std::filesystem::path& from,
                          const std::filesystem::path& to) noexcept;
/// Renames a folder. An empty folder that has the new name is replaced.
[[nodiscard]] int MoveFolder(const std::filesystem::path& from,
                             const std::filesystem::path& to) noexcept;
/// A rename lasts only once its folder is on the disk. Not every file system can; that is no error.
void SyncFolderOf(const std::filesystem::path& path) noexcept;

/// Asks for the lock of an open file, which its descriptor then has until it is closed. 1: got it,
/// or the file system has no locks. 0: another process has it. Never waits.
[[nodiscard]] int TryLock(int file) noexcept;

/// std::fopen for names of any letters; "b" belongs into the mode.
[[nodiscard]] std::FILE* OpenStream(const std::filesystem::path& path, const char* mode) noexcept;
/// Resize for what is behind a stream, which was flushed.
[[nodiscard]] int ResizeStream(std::FILE* stream, std::uint64_t size) noexcept;

/// Safe in handlers of signals. `name` ends with a zero byte.
int RemoveFile(const char* name) noexcept;
int RemoveEmptyFolder(const char* name) noexcept;

/// Opens the system's empty file, in the wrong direction, where a standard stream is closed, so
/// that no later file gets its number and its use still fails. Called before any file is opened.
void OccupyStandardStreams() noexcept;

}  // namespace bittern::os
