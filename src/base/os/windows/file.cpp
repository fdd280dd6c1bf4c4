// SPDX-License-Identifier: Apache-2.0
// Descriptors of the C library over handles that share everything, as files of POSIX do: a file
// that is open can be renamed and removed.
#include "base/os/file.hpp"

#include <fcntl.h>
#include <io.h>

#include <cerrno>
#include <new>

#include "base/os/windows/windows.hpp"

namespace bittern::os {
namespace {

constexpr DWORD kShareAll = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

HANDLE HandleOf(int file) noexcept { return reinterpret_cast<HANDLE>(_get_osfhandle(file)); }

struct Opening {
  DWORD access, disposition, flags;
  int of_library;  ///< flags of _open_osfhandle
};

int Open(const std::filesystem::path& path, const Opening& opening) noexcept try {
  const HANDLE handle = CreateFileW(LongPath(path).c_str(), opening.access, kShareAll, nullptr,
                                    opening.disposition, opening.flags, nullptr);
  if (handle == INVALID_HANDLE_VALUE) return FailedCall();
  const int file = _open_osfhandle(reinterpret_cast<intptr_t>(handle), opening.of_library);
  if (file < 0) CloseHandle(handle);
  return file;
} catch (const std::bad_alloc&) {
  errno = ENOMEM;
  return -1;
}

int Move(const std::filesystem::path& from, const std::filesystem::path& to, DWORD flags) noexcept
    try {
  return MoveFileExW(LongPath(from).c_str(), LongPath(to).c_str(), flags) != 0 ? 0 : FailedCall();
} catch (const std::bad_alloc&) {
  errno = ENOMEM;
  return -1;
}

/// UTF-16 on the stack, since handlers of signals may not allocate.
struct StackPath {
  explicit StackPath(const char* name) noexcept {
    if (MultiByteToWideChar(CP_UTF8, 0, name, -1, text, static_cast<int>(std::size(text))) == 0) {
      text[0] = L'\0';
    }
  }
  wchar_t text[4096];
};

}  // namespace

bool IsDiskFull(int code) noexcept { return code == ENOSPC; }

/// FILE_FLAG_BACKUP_SEMANTICS opens folders, too, which StateOf then tells.
int OpenToRead(const std::filesystem::path& path) noexcept {
  return Open(path, {GENERIC_READ, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS,
                     _O_RDONLY | _O_BINARY | _O_NOINHERIT});
}

int OpenNew(const std::filesystem::path& path) noexcept {
  return Open(path, {GENERIC_WRITE, CREATE_NEW, FILE_ATTRIBUTE_NORMAL,
                     _O_WRONLY | _O_BINARY | _O_NOINHERIT});
}

int OpenToGrow(const std::filesystem::path& path) noexcept {
  const int file = Open(path, {GENERIC_READ | GENERIC_WRITE, OPEN_ALWAYS,
                               FILE_ATTRIBUTE_NORMAL | FILE_FLAG_OPEN_REPARSE_POINT,
                               _O_RDWR | _O_APPEND | _O_BINARY | _O_NOINHERIT});
  if (file < 0) return file;
  BY_HANDLE_FILE_INFORMATION info = {};
  if (GetFileInformationByHandle(HandleOf(file), &info) == 0 ||
      (info.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) == 0) {
    return file;
  }
  Close(file);
  errno = ELOOP;
  return -1;
}

int Close(int file) noexcept { return _close(file); }

std::int64_t ReadAt(int file, std::span<std::byte> bytes, std::uint64_t offset) noexcept {
  constexpr std::size_t kMost = std::size_t{1} << 30;
  OVERLAPPED place = {};
  place.Offset = static_cast<DWORD>(offset);
  place.OffsetHigh = static_cast<DWORD>(offset >> 32);
  DWORD got = 0;
  const auto wanted = static_cast<DWORD>(bytes.size() < kMost ? bytes.size() : kMost);
  if (ReadFile(HandleOf(file), bytes.data(), wanted, &got, &place) != 0) return got;
  return GetLastError() == ERROR_HANDLE_EOF ? 0 : FailedCall();
}

std::int64_t Write(int file, std::span<const std::byte> bytes) noexcept {
  constexpr std::size_t kMost = std::size_t{1} << 30;
  return _write(file, bytes.data(),
                static_cast<unsigned>(bytes.size() < kMost ? bytes.size() : kMost));
}

int Sync(int file) noexcept { return _commit(file); }

int Resize(int file, std::uint64_t size) noexcept {
  return _chsize_s(file, static_cast<std::int64_t>(size)) == 0 ? 0 : -1;
}

/// Times of files count 100 nanoseconds. Asked before each pass, so it asks nothing of the volume,
/// as GetFileInformationByHandle does.
int StateOf(int file, FileState* state) noexcept {
  constexpr std::int64_t kTicks = 10'000'000;
  const HANDLE handle = HandleOf(file);
  FILE_BASIC_INFO times = {};
  FILE_STANDARD_INFO sizes = {};
  if (GetFileInformationByHandleEx(handle, FileBasicInfo, &times, sizeof times) == 0 ||
      GetFileInformationByHandleEx(handle, FileStandardInfo, &sizes, sizeof sizes) == 0) {
    return FailedCall();
  }
  const std::int64_t ticks = times.LastWriteTime.QuadPart;
  *state = {.size = static_cast<std::uint64_t>(sizes.EndOfFile.QuadPart),
            .changed_s = ticks / kTicks,
            .changed_ns = ticks % kTicks * 100,
            .is_regular = sizes.Directory == 0 && GetFileType(handle) == FILE_TYPE_DISK};
  return 0;
}

/// A new file inherits the permissions of its folder, which is the habit here.
void CopyPermissions(const std::filesystem::path& /*from*/, int /*to*/) noexcept {}

int Replace(const std::filesystem::path& from, const std::filesystem::path& to) noexcept {
  return Move(from, to, MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH);
}

/// RemoveDirectory removes an empty folder and nothing else.
int MoveFolder(const std::filesystem::path& from, const std::filesystem::path& to) noexcept try {
  RemoveDirectoryW(LongPath(to).c_str());
  return Move(from, to, MOVEFILE_WRITE_THROUGH);
} catch (const std::bad_alloc&) {
  errno = ENOMEM;
  return -1;
}

void SyncFolderOf(const std::filesystem::path& /*path*/) noexcept {}

/// The first byte, as Python's msvcrt.locking has it, so that huggingface_hub's locks and ours are
/// the same.
int TryLock(int file) noexcept {
  OVERLAPPED place = {};
  constexpr DWORD kFlags = LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY;
  if (LockFileEx(HandleOf(file), kFlags, 0, 1, 0, &place) != 0) return 1;
  const DWORD error = GetLastError();
  if (error == ERROR_LOCK_VIOLATION || error == ERROR_IO_PENDING) return 0;
  return error == ERROR_NOT_SUPPORTED || error == ERROR_INVALID_FUNCTION ? 1 : FailedCall();
}

std::FILE* OpenStream(const std::filesystem::path& path, const char* mode) noexcept try {
  return _wfopen(LongPath(path).c_str(), Wide(mode).c_str());
} catch (const std::bad_alloc&) {
  errno = ENOMEM;
  return nullptr;
}

int ResizeStream(std::FILE* stream, std::uint64_t size) noexcept {
  return Resize(_fileno(stream), size);
}

int RemoveFile(const char* name) noexcept {
  return DeleteFileW(StackPath(name).text) != 0 ? 0 : FailedCall();
}

int RemoveEmptyFolder(const char* name) noexcept {
  return RemoveDirectoryW(StackPath(name).text) != 0 ? 0 : FailedCall();
}

/// A program always gets three handles, and a new file none of their numbers.
void OccupyStandardStreams() noexcept {}

}  // namespace bittern::os
