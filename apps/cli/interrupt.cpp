// SPDX-License-Identifier: Apache-2.0
// A handler may only touch lock-free atomics, which is all this one does.
#include "cli/interrupt.hpp"

#include <csignal>

namespace bittern::cli {
namespace {

std::atomic<bool> interrupt_seen{false};
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void OnInterrupt(int) { interrupt_seen.store(true, std::memory_order_relaxed); }

}  // namespace

const std::atomic<bool>& CatchInterrupt() {
  struct sigaction action = {};
  action.sa_handler = OnInterrupt;
  // sigaction's flags are int, but this one's bit is the sign.
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  return interrupt_seen;
}

void ReleaseInterrupt() {
  std::signal(SIGINT, SIG_DFL);
  interrupt_seen.store(false, std::memory_order_relaxed);
}

}  // namespace bittern::cli
