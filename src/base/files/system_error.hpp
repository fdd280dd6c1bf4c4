// SPDX-License-Identifier: Apache-2.0
// Errors of the operating system in words.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/result.hpp"

namespace bittern {

/// "PATH: cannot ACTION: ..." for an errno, of kind kIo. Of a full disk it says how much is free,
/// of EFBIG which limit was met.
[[nodiscard]] Error SystemError(const std::filesystem::path& path, std::string_view action,
                                int code);

}  // namespace bittern
