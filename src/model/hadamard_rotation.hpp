// SPDX-License-Identifier: Apache-2.0
// Weights that were rotated before they were made ternary (metadata keys "prism.hadamard."). With H
// the Walsh-Hadamard matrix of each block of the input, s a sign per input, P an order of inputs:
//
//   y = W (H s P(x)) / sqrt(block)      for each ternary matrix and the output head
//   e = s (H z) / sqrt(block)           for a row z of the embedding
//
// P is the identity, but for the values of delta layers where the file says so: there the heads
// of the same key lie side by side.
#pragma once

#include <cstddef>
#include <vector>

namespace bittern::model {

struct HadamardRotation {
  /// Inputs of one width.
  struct Width {
    std::size_t cols;
    std::vector<float> weights;  ///< (cols): s / sqrt(block)
  };
  std::size_t block = 0;  ///< elements, a power of two; 0: nothing is rotated
  bool values_by_key = false;
  std::vector<Width> widths;  ///< all that rotated matrices have

  [[nodiscard]] bool empty() const noexcept { return block == 0; }
  /// The weights of a width that is there.
  [[nodiscard]] const float* WeightsOf(std::size_t cols) const noexcept {
    const Width* width = widths.data();
    while (width->cols != cols) ++width;
    return width->weights.data();
  }
};

}  // namespace bittern::model
