// SPDX-License-Identifier: Apache-2.0
// Whether weight_scale of packed weights multiplies or divides. Two families of checkpoints look
// alike: BitNet b1.58 2B-4T (linear_class "autobitlinear") stores the mean magnitude of a matrix,
// the models of linear class "bitlinear" (Falcon, Llama3-8B-1.58) its reciprocal. The wrong choice
// is a wrong model that still talks.
#pragma once

#include <span>

#include "base/decision.hpp"
#include "formats/hf/hf_config.hpp"

namespace bittern::formats {

struct HfScales {
  bool multiplies = false;  ///< weight = code * weight_scale; else code / weight_scale
  Decision decision;
};

/// In this order: linear_class of config.json; the size of the scales, where one of the two would
/// make every weight larger than those of any known model; the shape of BitNet b1.58 2B-4T in a
/// config.json without quantization_config; else it divides, as transformers does. `scales`: all
/// of the model, as stored. Notable where config.json does not say it.
[[nodiscard]] HfScales ChooseHfScales(const HfConfig& config, std::span<const float> scales);

}  // namespace bittern::formats
