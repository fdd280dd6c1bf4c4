// SPDX-License-Identifier: Apache-2.0
// Tells the layouts of I2_S apart by a model's dead neurons. A row of ffn_gate that is all zero is
// so under every layout of four weights a byte, and training leaves the same neuron's column of
// ffn_down all zero; a wrong layout permutes the columns, so only the right one makes the dead
// rows a subset of the dead columns. (Observed on BitNet b1.58 2B-4T and its fine-tunes.)
#pragma once

#include <optional>

#include "formats/checkpoint.hpp"
#include "quant/ternary_codec.hpp"

namespace bittern::formats {

/// The one layout that agrees with the dead neurons of a checkpoint's I2_S layers; nullopt if
/// there are too few dead neurons, or more than one layout agrees, or none.
[[nodiscard]] std::optional<quant::TernaryLayout> DetectI2sLayout(const Checkpoint& checkpoint);

}  // namespace bittern::formats
