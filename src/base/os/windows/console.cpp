// SPDX-License-Identifier: Apache-2.0
// The console takes UTF-8 and escape sequences when it is asked to (Windows 10, version 1511). Its
// keys are read as events, which every version has, and become the sequences of a VT100 here.
#include "base/os/console.hpp"

#include <fcntl.h>
#include <io.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "base/os/windows/windows.hpp"

namespace bittern::os {
namespace {

HANDLE HandleOf(std::FILE* stream) noexcept {
  return reinterpret_cast<HANDLE>(_get_osfhandle(_fileno(stream)));
}

/// The state that PrepareConsole found.
struct Before {
  UINT output_page = 0;
  DWORD mode[2] = {};  ///< of standard output and error; 0: no console
};
Before before;

DWORD input_mode = 0;
std::atomic<bool> taken{false};
std::wstring pending;  // a unit of UTF-16 whose other half has not come
std::string rest;      // bytes that the last Read had no room for

void PutBack() noexcept {
  if (before.output_page != 0) SetConsoleOutputCP(before.output_page);
  std::FILE* const streams[] = {stdout, stderr};
  for (int i = 0; i < 2; ++i) {
    if (before.mode[i] != 0) SetConsoleMode(HandleOf(streams[i]), before.mode[i]);
  }
}

/// The last letter of a VT100's sequence; 0 for other keys.
char LetterOf(WORD key) noexcept {
  switch (key) {
    case VK_UP:
      return 'A';
    case VK_DOWN:
      return 'B';
    case VK_RIGHT:
      return 'C';
    case VK_LEFT:
      return 'D';
    case VK_HOME:
      return 'H';
    case VK_END:
      return 'F';
    default:
      return 0;
  }
}

/// The bytes that a key sends. Ctrl-Z ends the input here, as Ctrl-D does elsewhere.
std::string BytesOf(const KEY_EVENT_RECORD& key) {
  constexpr DWORD kControl = LEFT_CTRL_PRESSED | RIGHT_CTRL_PRESSED;
  const bool control = (key.dwControlKeyState & kControl) != 0;
  const bool alt = (key.dwControlKeyState & LEFT_ALT_PRESSED) != 0;
  if (const char letter = LetterOf(key.wVirtualKeyCode); letter != 0) {
    return std::string(control ? "\x1b[1;5" : alt ? "\x1b[1;3" : "\x1b[") + letter;
  }
  if (key.wVirtualKeyCode == VK_DELETE) return control ? "\x1b[3;5~" : "\x1b[3~";
  const wchar_t unit = key.uChar.UnicodeChar;
  if (unit == 0) return "";
  if (unit == 0x1a) return "\x04";
  if (unit >= 0xd800 && unit < 0xdc00) {
    pending = unit;
    return "";
  }
  std::string bytes = Utf8(pending + unit);
  pending.clear();
  // The right Alt key writes letters on many keyboards, with Ctrl held down in the system's eyes.
  return alt && !control ? "\x1b" + bytes : bytes;
}

}  // namespace

void PrepareConsole() noexcept {
  std::FILE* const streams[] = {stdout, stderr};
  for (std::FILE* stream : {stdin, stdout, stderr}) _setmode(_fileno(stream), _O_BINARY);
  for (int i = 0; i < 2; ++i) {
    DWORD mode = 0;
    if (GetConsoleMode(HandleOf(streams[i]), &mode) == 0) continue;
    before.mode[i] = mode;
    SetConsoleMode(HandleOf(streams[i]), mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
  }
  if (before.mode[0] == 0 && before.mode[1] == 0) return;
  before.output_page = GetConsoleOutputCP();
  SetConsoleOutputCP(CP_UTF8);
  std::atexit(PutBack);
}

bool IsTerminal(std::FILE* stream) noexcept {
  DWORD mode = 0;
  return GetConsoleMode(HandleOf(stream), &mode) != 0;
}

TerminalSize TerminalSizeOf(std::FILE* stream) noexcept {
  CONSOLE_SCREEN_BUFFER_INFO info = {};
  if (GetConsoleScreenBufferInfo(HandleOf(stream), &info) == 0) return {};
  return {static_cast<std::size_t>(info.srWindow.Right - info.srWindow.Left + 1),
          static_cast<std::size_t>(info.srWindow.Bottom - info.srWindow.Top + 1)};
}

int ReadInputByte() noexcept {
  unsigned char byte = 0;
  return _read(_fileno(stdin), &byte, 1) == 1 ? byte : -1;
}

int RawKeys::Begin() noexcept {
  if (GetConsoleMode(HandleOf(stdin), &input_mode) == 0) return FailedCall();
  taken.store(true);
  return 0;
}

void RawKeys::SetMode(bool reads_line) noexcept {
  SetConsoleMode(HandleOf(stdin), ENABLE_WINDOW_INPUT | (reads_line ? 0 : ENABLE_PROCESSED_INPUT));
}

std::int64_t RawKeys::Read(std::span<char> bytes) noexcept {
  const HANDLE input = HandleOf(stdin);
  DWORD waiting = 0;
  while (rest.empty() || (GetNumberOfConsoleInputEvents(input, &waiting) != 0 && waiting > 0 &&
                          rest.size() < bytes.size())) {
    INPUT_RECORD record = {};
    DWORD count = 0;
    if (ReadConsoleInputW(input, &record, 1, &count) == 0) return FailedCall();
    if (count == 0) return 0;
    if (record.EventType == WINDOW_BUFFER_SIZE_EVENT && rest.empty()) {
      errno = EINTR;
      return -1;
    }
    if (record.EventType != KEY_EVENT || record.Event.KeyEvent.bKeyDown == 0) continue;
    const std::string key = BytesOf(record.Event.KeyEvent);
    for (WORD i = 0; i < record.Event.KeyEvent.wRepeatCount; ++i) rest += key;
  }
  const std::size_t size = std::min(rest.size(), bytes.size());
  std::memcpy(bytes.data(), rest.data(), size);
  rest.erase(0, size);
  return static_cast<std::int64_t>(size);
}

void RawKeys::Restore() noexcept {
  if (taken.exchange(false)) SetConsoleMode(HandleOf(stdin), input_mode);
}

}  // namespace bittern::os
