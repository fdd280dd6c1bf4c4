// SPDX-License-Identifier: Apache-2.0
// A handler may only touch lock-free atomics and call what is safe in signals, which is all these
// do.
#include "cli/shared/interrupt.hpp"

#include "base/files/atomic_file.hpp"
#include "base/os/signals.hpp"
#include "cli/shared/line_terminal.hpp"
#include "cli/shared/program_ranks.hpp"

namespace bittern::cli {
namespace {

std::atomic<bool> interrupt_seen{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void CleanUp() noexcept {
  RemoveTemporaryFiles();
  RestoreTerminal();
  EndProgram();
}

void OnInterrupt() noexcept { interrupt_seen.store(true, std::memory_order_relaxed); }

}  // namespace

void RemoveFilesOnSignals() { os::CleanUpAtEnd(CleanUp); }

const std::atomic<bool>& CatchInterrupt() {
  os::CatchInterrupt(OnInterrupt);
  return interrupt_seen;
}

void ReleaseInterrupt() {
  os::ReleaseInterrupt();
  interrupt_seen.store(false, std::memory_order_relaxed);
}

}  // namespace bittern::cli
