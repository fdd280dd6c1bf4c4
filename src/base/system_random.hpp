// SPDX-License-Identifier: Apache-2.0
// A random number, for seeds that the user left open.
#pragma once

#include <cstdint>

namespace bittern {

/// 32 bits from the operating system, or from the clock where it has none ready. Never waits.
/// Not for secrets.
[[nodiscard]] std::uint32_t SystemRandom() noexcept;

}  // namespace bittern
