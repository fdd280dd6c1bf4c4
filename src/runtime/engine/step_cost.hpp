// SPDX-License-Identifier: Apache-2.0
// The cost of a forward pass over a number of rows, learnt from the passes seen. Before anything is
// known it assumes the shape measured on several CPUs: up to eight rows each further row costs a
// third of the first; more rows go in groups of eight.
#pragma once

#include <array>
#include <cstddef>

namespace bittern::runtime {

/// Not thread-safe.
class StepCost {
 public:
  /// A pass over `rows` (>= 1) tokens took `seconds`.
  void Observe(std::size_t rows, double seconds);
  /// Seconds that a pass over `rows` is expected to take; in units of one token's pass before
  /// anything was observed. Increases with `rows`.
  [[nodiscard]] double Of(std::size_t rows) const;

 private:
  /// Sizes that are alike: 1..8 each by itself, then groups of eight, then of powers of two.
  static constexpr std::size_t kNumKinds = 32;
  [[nodiscard]] static std::size_t KindOf(std::size_t rows);

  std::array<double, kNumKinds> factor_{};  // seconds by assumed cost, a running average; 0: unseen
};

}  // namespace bittern::runtime
