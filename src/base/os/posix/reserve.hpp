// SPDX-License-Identifier: Apache-2.0
// The part of TakePagesOnDisk that POSIX systems do in ways of their own.
#pragma once

#include <cstddef>

namespace bittern::os {

/// Makes an empty file `bytes` long, with room for them on the disk where the system can promise
/// that. 0, or -1 and errno.
[[nodiscard]] int ReserveBytes(int file, std::size_t bytes) noexcept;

}  // namespace bittern::os
