// SPDX-License-Identifier: Apache-2.0
// libstdc++'s own wait shares a few mutexes among all words here.
#include "base/os/waiting.hpp"

#include "base/os/windows/windows.hpp"

namespace bittern::os {

void WaitWhile(const std::atomic<std::uint32_t>& word, std::uint32_t seen) noexcept {
  static_assert(sizeof word == sizeof seen);
  auto* address = const_cast<std::atomic<std::uint32_t>*>(&word);
  if (word.load(std::memory_order_acquire) == seen) {
    WaitOnAddress(address, &seen, sizeof seen, INFINITE);
  }
}

void WakeAll(std::atomic<std::uint32_t>& word) noexcept { WakeByAddressAll(&word); }

}  // namespace bittern::os
