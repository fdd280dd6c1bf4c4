// SPDX-License-Identifier: Apache-2.0
#include "base/threads/process_fork.hpp"

#include "base/os/process.hpp"

namespace bittern {
namespace {

std::atomic<int> generation = 0;

/// Before main, so that no fork is missed.
[[maybe_unused]] const bool counting = [] {
  os::WatchForks(nullptr, nullptr, [] { generation.fetch_add(1, std::memory_order_relaxed); });
  return true;
}();

}  // namespace

void WatchForks(void (*before)(), void (*in_parent)(), void (*in_child)()) {
  os::WatchForks(before, in_parent, in_child);
}

int ProcessGeneration() noexcept { return generation.load(std::memory_order_relaxed); }

}  // namespace bittern
