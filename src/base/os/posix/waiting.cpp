// SPDX-License-Identifier: Apache-2.0
// The C++ library takes what each system has: futex, __ulock.
#include "base/os/waiting.hpp"

namespace bittern::os {

void WaitWhile(const std::atomic<std::uint32_t>& word, std::uint32_t seen) noexcept {
  word.wait(seen, std::memory_order_acquire);
}

void WakeAll(std::atomic<std::uint32_t>& word) noexcept { word.notify_all(); }

}  // namespace bittern::os
