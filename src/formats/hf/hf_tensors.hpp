// SPDX-License-Identifier: Apache-2.0
// From the tensors of a Hugging Face model to those of GGUF: names, logical shapes, and each
// packed weight together with its scale.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/decision.hpp"
#include "base/result.hpp"
#include "formats/checkpoint.hpp"
#include "formats/hf/hf_config.hpp"
#include "formats/safetensors/safetensors_reader.hpp"

namespace bittern::formats {

struct HfMapped {
  std::vector<Tensor> tensors;
  std::vector<std::vector<std::byte>> memory;  ///< of tensors that are in no file
};

/// Every tensor of the network under its GGUF name, in the order given. Where weights are packed,
/// the meaning of their scales is decided in writing (hf_scales.hpp). Errors name the tensor.
/// kUnsupported: a name or a type that is not part of these architectures. kCorruptFile: a shape
/// that contradicts the configuration; a packed weight without its scale or the reverse.
[[nodiscard]] Result<HfMapped> MapHfTensors(const HfConfig& config,
                                            std::span<const SafetensorsEntry> entries,
                                            Decisions* decisions);

}  // namespace bittern::formats
