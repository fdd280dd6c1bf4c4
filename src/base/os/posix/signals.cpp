// SPDX-License-Identifier: Apache-2.0
// A handler may only touch lock-free atomics and call what is safe in signals, which is all these
// do.
#include "base/os/signals.hpp"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <utility>

namespace bittern::os {
namespace {

std::atomic<void (*)() noexcept> at_end{nullptr}, at_interrupt{nullptr};

extern "C" void OnEnd(int signal) {
  at_end.load()();
  ::signal(signal, SIG_DFL);
  raise(signal);  // so that the caller sees what ended this process
}

void Handle(int signal, void (*handler)(int), int flags) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

/// The first Ctrl-C leaves OnEnd for the second.
extern "C" void OnInterrupt(int signal) {
  at_interrupt.load()();
  Handle(signal, OnEnd, 0);
}

sigset_t WishSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

}  // namespace

/// A file that grows beyond its limit is an error of the write instead.
void CleanUpAtEnd(void (*clean_up)() noexcept) {
  at_end.store(clean_up);
  ::signal(SIGXFSZ, SIG_IGN);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGALRM, SIGVTALRM, SIGPROF,
                           SIGUSR1, SIGUSR2, SIGXCPU}) {
    struct sigaction old = {};
    const bool ignored = sigaction(signal, nullptr, &old) == 0 && old.sa_handler == SIG_IGN;
    if (!ignored) Handle(signal, OnEnd, 0);
  }
}

void WriteErrorInHandler(std::string_view text) noexcept {
  static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size()));
}

void CatchInterrupt(void (*on_interrupt)() noexcept) {
  at_interrupt.store(on_interrupt);
  Handle(SIGINT, OnInterrupt, SA_RESTART);
}

void ReleaseInterrupt() { Handle(SIGINT, OnEnd, 0); }

SignalsBlocked::SignalsBlocked() noexcept {
  sigset_t all, before;
  sigfillset(&all);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF}) {
    sigdelset(&all, fault);
  }
  pthread_sigmask(SIG_BLOCK, &all, &before);
  static_assert(sizeof(before) <= sizeof(saved_.bytes));
  std::memcpy(saved_.bytes, &before, sizeof(before));
}

SignalsBlocked::~SignalsBlocked() {
  sigset_t before;
  std::memcpy(&before, saved_.bytes, sizeof(before));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

/// Blocked here, the signals stay blocked in all threads that start later; Watch takes them.
EndWishes::EndWishes() {
  const sigset_t set = WishSignals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

EndWishes::~EndWishes() {
  Stop();
  const sigset_t set = WishSignals();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

void EndWishes::Start(std::function<bool()> on_wish) {
  over_.store(false);
  thread_ = std::thread([this, wish = std::move(on_wish)] { Watch(wish); });
}

/// Wakes the thread with a signal of its own.
void EndWishes::Stop() {
  if (!thread_.joinable()) return;
  over_.store(true);
  pthread_kill(thread_.native_handle(), SIGTERM);
  thread_.join();
}

void EndWishes::Watch(const std::function<bool()>& on_wish) {
  const sigset_t set = WishSignals();
  for (;;) {
    int signal = 0;
    sigwait(&set, &signal);
    if (over_.load()) return;
    if (on_wish()) continue;
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
    raise(signal);
  }
}

}  // namespace bittern::os
