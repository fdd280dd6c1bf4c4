// SPDX-License-Identifier: Apache-2.0
// The positions of a text that its vector is made of.
#pragma once

#include <cstdint>

namespace bittern::runtime {

/// The last one, the first one, or the mean of all.
enum class Pooling : std::uint8_t { kLast, kFirst, kMean };

}  // namespace bittern::runtime
