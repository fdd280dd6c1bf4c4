// SPDX-License-Identifier: Apache-2.0
// Arrays of NumPy's files: the head, behind which the values follow. Pure; any thread.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace bittern {

/// The head of an array (rows, cols) of little-endian float32, row by row, format 1.0. A multiple
/// of 64 bytes.
[[nodiscard]] std::string NpyHeader(std::size_t rows, std::size_t cols);

struct NpyArray {
  std::vector<std::size_t> shape;
  std::span<const std::byte> values;  ///< little-endian float32, row by row; a part of the file
};

/// Reads a whole file of format 1 to 3 with little-endian float32, row by row. Error kCorruptFile:
/// another kind of file, or a size that does not fit the shape.
[[nodiscard]] Result<NpyArray> ReadNpy(std::span<const std::byte> file);

}  // namespace bittern
