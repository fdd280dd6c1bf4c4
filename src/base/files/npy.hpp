// SPDX-License-Identifier: Apache-2.0
// The head of a NumPy file (format 1.0), behind which the values follow. Pure; any thread.
#pragma once

#include <cstddef>
#include <string>

namespace bittern {

/// The head of an array (rows, cols) of little-endian float32, row by row. A multiple of 64 bytes.
[[nodiscard]] std::string NpyHeader(std::size_t rows, std::size_t cols);

}  // namespace bittern
