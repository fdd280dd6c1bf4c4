// SPDX-License-Identifier: Apache-2.0
// Threads that sleep until a word of memory changes. Any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace bittern::os {

/// Sleeps while `word` is `seen`; may return earlier. The value is read with acquire order.
void WaitWhile(const std::atomic<std::uint32_t>& word, std::uint32_t seen) noexcept;
/// Wakes all that sleep on `word`, which has been changed.
void WakeAll(std::atomic<std::uint32_t>& word) noexcept;

}  // namespace bittern::os
