// SPDX-License-Identifier: Apache-2.0
// Texts, paths and errors in both spellings. All narrow texts of the program are UTF-8, which the C
// library here does not know; the system takes UTF-16.
#include "base/os/windows/windows.hpp"

#include <wchar.h>

#include <cerrno>
#include <cstdint>

/// libstdc++ makes paths of narrow names by mbrtowc, and the C library's own knows no locale with
/// UTF-8. The linker hands all its calls to this function (--wrap). So all narrow names of this
/// program are UTF-8. A letter beyond 16 bits comes as two units: the first takes three of its four
/// bytes, the second one, kept in `state` until then, the last.
extern "C" std::size_t __wrap_mbrtowc(wchar_t* unit, const char* bytes, std::size_t count,
                                      mbstate_t* state) {
  constexpr auto kInvalid = static_cast<std::size_t>(-1), kPart = static_cast<std::size_t>(-2);
  if (bytes == nullptr) return 0;
  if (count == 0) return kPart;
  if (state != nullptr && *state != 0) {
    if (unit != nullptr) *unit = static_cast<wchar_t>(*state);
    *state = 0;
    return 1;
  }
  const auto first = static_cast<std::uint8_t>(*bytes);
  const std::size_t size = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (count < size) return kPart;
  wchar_t units[2] = {};
  const int made =
      MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, bytes, static_cast<int>(size), units, 2);
  if (made == 0 || (made == 2 && state == nullptr)) {
    errno = EILSEQ;
    return kInvalid;
  }
  if (unit != nullptr) *unit = units[0];
  if (made == 1) return units[0] == 0 ? 0 : size;
  *state = units[1];
  return size - 1;
}

namespace bittern::os {

std::wstring Wide(std::string_view text) {
  const int size = static_cast<int>(text.size());
  std::wstring wide(text.size(), L'\0');
  const int count = MultiByteToWideChar(CP_UTF8, 0, text.data(), size, wide.data(),
                                        static_cast<int>(wide.size()));
  wide.resize(static_cast<std::size_t>(count));
  return wide;
}

/// A unit of UTF-16 takes three bytes at most.
std::string Utf8(std::wstring_view text) {
  std::string bytes(3 * text.size(), '\0');
  const int count =
      WideCharToMultiByte(CP_UTF8, 0, text.data(), static_cast<int>(text.size()), bytes.data(),
                          static_cast<int>(bytes.size()), nullptr, nullptr);
  bytes.resize(static_cast<std::size_t>(count));
  return bytes;
}

/// The prefix \\?\ lifts the limit of 260 characters, and wants an absolute name with backslashes.
/// Short names stay as they are, since some name devices.
std::wstring LongPath(const std::filesystem::path& path) {
  constexpr std::size_t kShort = 240;
  std::wstring given = path.native();
  if (given.starts_with(L"\\\\")) return given;
  const DWORD needed = GetFullPathNameW(given.c_str(), 0, nullptr, nullptr);
  if (needed <= kShort) return given;
  std::wstring full(needed, L'\0');
  full.resize(GetFullPathNameW(given.c_str(), needed, full.data(), nullptr));
  return L"\\\\?\\" + full;
}

int ErrnoOf(DWORD error) noexcept {
  switch (error) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_BAD_NETPATH:
    case ERROR_BAD_NET_NAME:
    case ERROR_INVALID_DRIVE:
    case ERROR_INVALID_NAME:
      return ENOENT;
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION:
    case ERROR_WRITE_PROTECT:
      return EACCES;
    case ERROR_FILE_EXISTS:
    case ERROR_ALREADY_EXISTS:
      return EEXIST;
    case ERROR_DISK_FULL:
    case ERROR_HANDLE_DISK_FULL:
      return ENOSPC;
    case ERROR_NOT_ENOUGH_MEMORY:
    case ERROR_OUTOFMEMORY:
    case ERROR_COMMITMENT_LIMIT:
      return ENOMEM;
    case ERROR_TOO_MANY_OPEN_FILES:
      return EMFILE;
    case ERROR_FILENAME_EXCED_RANGE:
      return ENAMETOOLONG;
    case ERROR_DIRECTORY:
      return ENOTDIR;
    case ERROR_DIR_NOT_EMPTY:
      return ENOTEMPTY;
    case ERROR_USER_MAPPED_FILE:
    case ERROR_BUSY:
      return EBUSY;
    case ERROR_BROKEN_PIPE:
    case ERROR_NO_DATA:
      return EPIPE;
    case ERROR_NOT_SAME_DEVICE:
      return EXDEV;
    case ERROR_INVALID_HANDLE:
      return EBADF;
    case ERROR_INVALID_PARAMETER:
      return EINVAL;
    default:
      return EIO;
  }
}

int FailedCall() noexcept {
  errno = ErrnoOf(GetLastError());
  return -1;
}

}  // namespace bittern::os
