// SPDX-License-Identifier: Apache-2.0
// Which model a command uses when nobody names one.
#pragma once

#include <string>

namespace bittern::cli {

/// $BITTERN_MODEL if set; else models/kjv-5m-i2s.gguf in the folder of the executable or the
/// nearest folder above it that has one; else in the source tree this was built from (whether
/// or not it is still there: the error then names a path).
[[nodiscard]] std::string DefaultModelPath();

}  // namespace bittern::cli
