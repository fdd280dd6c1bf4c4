// SPDX-License-Identifier: Apache-2.0
// A console sends Ctrl-C, Ctrl-Break and its own end to handlers, each on a thread of its own. A
// program that these end has the exit code that a shell of POSIX gives it.
#include "base/os/signals.hpp"

#include <atomic>
#include <mutex>
#include <utility>

#include "base/os/windows/interrupt_key.hpp"
#include "base/os/windows/windows.hpp"

namespace bittern::os {
namespace {

constexpr UINT kInterrupted = 130;

std::atomic<void (*)() noexcept> at_end{nullptr}, at_interrupt{nullptr};
std::mutex wish_mutex;
std::function<bool()> wish;  // guarded by wish_mutex

/// True where the wish was heard. The system ends a process some seconds after its console has
/// closed, and at once when the handler returns.
bool Heard(DWORD event) {
  {
    const std::lock_guard lock(wish_mutex);
    if (!wish || !wish()) return false;
  }
  if (event != CTRL_C_EVENT && event != CTRL_BREAK_EVENT) Sleep(INFINITE);
  return true;
}

BOOL WINAPI OnEvent(DWORD event) {
  if (Heard(event)) return TRUE;
  if (event == CTRL_C_EVENT) {
    if (InterruptBecomesKey()) return TRUE;
    if (const auto on_interrupt = at_interrupt.exchange(nullptr); on_interrupt != nullptr) {
      on_interrupt();
      return TRUE;
    }
  }
  if (const auto clean_up = at_end.load(); clean_up != nullptr) clean_up();
  ExitProcess(kInterrupted);
}

void Install() {
  static std::once_flag once;
  std::call_once(once, [] { SetConsoleCtrlHandler(OnEvent, TRUE); });
}

}  // namespace

void CleanUpAtEnd(void (*clean_up)() noexcept) {
  at_end.store(clean_up);
  Install();
}

void WriteErrorInHandler(std::string_view text) noexcept {
  DWORD written = 0;
  WriteFile(GetStdHandle(STD_ERROR_HANDLE), text.data(), static_cast<DWORD>(text.size()), &written,
            nullptr);
}

void CatchInterrupt(void (*on_interrupt)() noexcept) {
  at_interrupt.store(on_interrupt);
  Install();
}

void ReleaseInterrupt() { at_interrupt.store(nullptr); }

SignalsBlocked::SignalsBlocked() noexcept : saved_{} {}
SignalsBlocked::~SignalsBlocked() = default;

EndWishes::EndWishes() { Install(); }
EndWishes::~EndWishes() { Stop(); }

void EndWishes::Start(std::function<bool()> on_wish) {
  const std::lock_guard lock(wish_mutex);
  wish = std::move(on_wish);
}

void EndWishes::Stop() {
  const std::lock_guard lock(wish_mutex);
  wish = nullptr;
}

}  // namespace bittern::os
