// SPDX-License-Identifier: Apache-2.0
#include "base/system_random.hpp"

#if defined(__linux__)
#include <sys/random.h>
#elif defined(__APPLE__)
#include <cstdlib>
#endif

#include <chrono>

namespace bittern {

std::uint32_t SystemRandom() noexcept {
#if defined(__linux__)
  std::uint32_t value = 0;
  if (getrandom(&value, sizeof value, GRND_NONBLOCK) == sizeof value) return value;
#elif defined(__APPLE__)
  return arc4random();
#endif
  return static_cast<std::uint32_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

}  // namespace bittern
