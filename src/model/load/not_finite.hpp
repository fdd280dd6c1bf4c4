// SPDX-License-Identifier: Apache-2.0
// Looks for NaN and infinity in a dense matrix.
#pragma once

#include <cstddef>

#include "model/weights.hpp"

namespace bittern::model {

struct NotFinite {
  std::size_t rows = 0;   ///< that hold a number that is not finite
  std::size_t first = 0;  ///< of them
};

/// Reads all of the matrix; floats at several GB/s. format: one with a decoder.
[[nodiscard]] NotFinite RowsNotFinite(const DenseMatrix& matrix);

}  // namespace bittern::model
