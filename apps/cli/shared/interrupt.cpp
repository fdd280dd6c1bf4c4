// SPDX-License-Identifier: Apache-2.0
// A handler may only touch lock-free atomics and call what is safe in signals, which is all these
// do.
#include "cli/shared/interrupt.hpp"

#include <csignal>

#include "base/files/atomic_file.hpp"
#include "cli/shared/line_terminal.hpp"

namespace bittern::cli {
namespace {

std::atomic<bool> interrupt_seen{false};
static_assert(std::atomic<bool>::is_always_lock_free);

/// Cleans up, then lets the signal end the process as it would have.
extern "C" void OnEnd(int signal) {
  RemoveTemporaryFiles();
  RestoreTerminal();
  std::signal(signal, SIG_DFL);
  std::raise(signal);  // so that the caller sees what ended this process
}

void EndOn(int signal) {
  struct sigaction action = {};
  action.sa_handler = OnEnd;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

/// The first Ctrl-C sets the flag, and leaves OnEnd for the second.
extern "C" void OnInterrupt(int signal) {
  interrupt_seen.store(true, std::memory_order_relaxed);
  EndOn(signal);
}

}  // namespace

void RemoveFilesOnSignals() {
  std::signal(SIGXFSZ, SIG_IGN);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGALRM, SIGVTALRM, SIGPROF,
                           SIGUSR1, SIGUSR2, SIGXCPU}) {
    struct sigaction old = {};
    const bool ignored = sigaction(signal, nullptr, &old) == 0 && old.sa_handler == SIG_IGN;
    if (!ignored) EndOn(signal);
  }
}

const std::atomic<bool>& CatchInterrupt() {
  struct sigaction action = {};
  action.sa_handler = OnInterrupt;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  return interrupt_seen;
}

void ReleaseInterrupt() {
  EndOn(SIGINT);
  interrupt_seen.store(false, std::memory_order_relaxed);
}

}  // namespace bittern::cli
