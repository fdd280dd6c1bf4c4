// SPDX-License-Identifier: Apache-2.0
// Tells the layouts of I2_S apart by what training leaves in the weights. A neuron that matters
// little has many zeros in its rows of ffn_gate and ffn_up and in its column of ffn_down as well,
// so the counts of zeros go together over the neurons; a dead neuron is the extreme case. A wrong
// layout permutes the columns or mixes the rows, and little or nothing of that is left. Measured
// values and limits: docs/formats/ternary.md.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "formats/checkpoint.hpp"
#include "quant/ternary_codec.hpp"

namespace bittern::formats {

inline constexpr std::array kI2sLayouts = {
    quant::TernaryLayout::kI2sX86, quant::TernaryLayout::kI2sArm, quant::TernaryLayout::kI2sRow4,
    quant::TernaryLayout::kI2sSequential};

/// Judges the layout of a checkpoint's I2_S weights by its first layers.
struct I2sEvidence {
  /// For each of kI2sLayouts, the mean over layers of the correlation, over neurons, of zeros in
  /// rows of gate and up with zeros in columns of down; 0 where the shape does not fit.
  std::array<double, kI2sLayouts.size()> correlation = {};
  std::size_t neurons = 0;  ///< of all layers looked at; 0: there was nothing to look at
  /// How much more the counts of rows differ than those of independent weights would (1: no more).
  double dispersion = 0;

  /// The one layout that is clearly above all others; nullopt where none is.
  [[nodiscard]] std::optional<quant::TernaryLayout> Layout() const;
  /// True where the rows differ as those of a trained model do.
  [[nodiscard]] bool LooksTrained() const;
};

/// Reads at most four layers; 40 ms for the shape of BitNet b1.58 2B-4T. No evidence where a
/// layer's gate, up and down are not all I2_S.
[[nodiscard]] I2sEvidence WeighI2sLayouts(const Checkpoint& checkpoint);

}  // namespace bittern::formats
