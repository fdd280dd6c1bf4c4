// SPDX-License-Identifier: Apache-2.0
#include "runtime/engine/step_cost.hpp"

#include <algorithm>
#include <bit>

namespace bittern::runtime {
namespace {

constexpr std::size_t kFew = 8;

/// The assumed shape, in units of one token's pass.
double Assumed(std::size_t rows) {
  constexpr double kFurtherRow = 0.33, kRowOfMany = 0.28;
  if (rows <= kFew) return 1 + kFurtherRow * static_cast<double>(rows - 1);
  return 0.3 + kRowOfMany * static_cast<double>((rows + kFew - 1) / kFew * kFew);
}

}  // namespace

std::size_t StepCost::KindOf(std::size_t rows) {
  if (rows <= kFew) return rows - 1;                    // 0..7
  if (rows <= 64) return kFew + (rows - 1) / kFew - 1;  // 8..14
  return std::min(kNumKinds - 1, 15 + static_cast<std::size_t>(std::bit_width(rows - 1)) - 7);
}

void StepCost::Observe(std::size_t rows, double seconds) {
  constexpr double kWeight = 0.1;
  double& factor = factor_[KindOf(rows)];
  const double seen = seconds / Assumed(rows);
  // A neighbour that woke up makes one pass slow; it must not change the plan by itself.
  if (factor == 0) {
    factor = seen;
  } else {
    factor += kWeight * (std::min(seen, 3 * factor) - factor);
  }
}

double StepCost::Of(std::size_t rows) const {
  const std::size_t kind = KindOf(rows);
  if (factor_[kind] != 0) return factor_[kind] * Assumed(rows);
  for (std::size_t distance = 1; distance < kNumKinds; ++distance) {  // the nearest kind seen
    if (distance <= kind && factor_[kind - distance] != 0) {
      return factor_[kind - distance] * Assumed(rows);
    }
    if (kind + distance < kNumKinds && factor_[kind + distance] != 0) {
      return factor_[kind + distance] * Assumed(rows);
    }
  }
  return Assumed(rows);
}

}  // namespace bittern::runtime
