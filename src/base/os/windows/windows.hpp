// SPDX-License-Identifier: Apache-2.0
// The system's header without its macros that hit other names, and texts in its spelling. Windows 8
// is the oldest that is expected.
#pragma once

#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX  // libstdc++ defines it, too
#define NOMINMAX
#endif
#include <windows.h>
#undef ERROR  // a macro of wingdi.h

#include <filesystem>
#include <string>
#include <string_view>

namespace bittern::os {

/// UTF-16 of UTF-8, and back; what is no text becomes U+FFFD.
[[nodiscard]] std::wstring Wide(std::string_view text);
[[nodiscard]] std::string Utf8(std::wstring_view text);

/// The path as functions of the system take it, of any length.
[[nodiscard]] std::wstring LongPath(const std::filesystem::path& path);

/// The errno that means the same as an error of the system.
[[nodiscard]] int ErrnoOf(DWORD error) noexcept;
/// Sets errno by GetLastError and returns -1.
int FailedCall() noexcept;

}  // namespace bittern::os
