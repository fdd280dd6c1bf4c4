// SPDX-License-Identifier: Apache-2.0
#include "base/os/console.hpp"

#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

namespace bittern::os {
namespace {

termios original = {};
std::atomic<bool> taken{false};

/// Does nothing: its only effect is that read() returns EINTR, after which the line is drawn anew.
extern "C" void OnResize(int) {}

}  // namespace

void PrepareConsole() noexcept {}

bool IsTerminal(std::FILE* stream) noexcept { return isatty(fileno(stream)) == 1; }

TerminalSize TerminalSizeOf(std::FILE* stream) noexcept {
  winsize size = {};
  if (ioctl(fileno(stream), TIOCGWINSZ, &size) != 0) return {};
  return {size.ws_col, size.ws_row};
}

int ReadInputByte() noexcept {
  unsigned char byte = 0;
  return read(STDIN_FILENO, &byte, 1) == 1 ? byte : -1;
}

int RawKeys::Begin() noexcept {
  if (tcgetattr(STDIN_FILENO, &original) != 0) return -1;
  struct sigaction action = {};
  action.sa_handler = OnResize;  // without SA_RESTART: a read ends and the line is drawn anew
  sigemptyset(&action.sa_mask);
  sigaction(SIGWINCH, &action, nullptr);
  taken.store(true);
  return 0;
}

void RawKeys::SetMode(bool reads_line) noexcept {
  termios mode = original;
  mode.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | IEXTEN);
  if (reads_line) mode.c_lflag &= ~static_cast<tcflag_t>(ISIG);
  mode.c_iflag &= ~static_cast<tcflag_t>(ICRNL | INLCR | IXON);
  mode.c_cc[VMIN] = 1;
  mode.c_cc[VTIME] = 0;
  tcsetattr(STDIN_FILENO, TCSADRAIN, &mode);
}

std::int64_t RawKeys::Read(std::span<char> bytes) noexcept {
  return read(STDIN_FILENO, bytes.data(), bytes.size());
}

void RawKeys::Restore() noexcept {
  if (taken.exchange(false)) tcsetattr(STDIN_FILENO, TCSANOW, &original);
}

}  // namespace bittern::os
