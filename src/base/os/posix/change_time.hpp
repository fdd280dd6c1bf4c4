// SPDX-License-Identifier: Apache-2.0
// The one field of `struct stat` that systems name differently.
#pragma once

#include <sys/stat.h>
#include <time.h>

namespace bittern::os {

/// When the contents of a file changed last.
[[nodiscard]] timespec ChangeTimeOf(const struct stat& info) noexcept;

}  // namespace bittern::os
