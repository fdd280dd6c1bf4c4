// SPDX-License-Identifier: Apache-2.0
// Names of tensors, from GGUF's to Hugging Face's and back. Both ways go by the one table
// (network_tensors.def).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "formats/hf/hf_config.hpp"
#include "formats/network_tensors.hpp"

namespace bittern::formats {

/// "blk.3.attn_q.weight" -> "model.layers.3.self_attn.q_proj.weight". Error kUnsupported: a tensor
/// that these architectures do not have.
[[nodiscard]] Result<std::string> HfTensorName(std::string_view gguf_name);

/// A tensor of a folder in GGUF's words.
struct HfTarget {
  std::string name;        ///< "blk.3.attn_q.weight"
  const TensorSpec* spec;  ///< its row of the table
  bool is_weight;          ///< neither a bias nor the norm of a projection's input
  std::optional<std::uint64_t> expert = std::nullopt;  ///< of a matrix of one expert alone
  [[nodiscard]] bool projection() const noexcept { return is_weight && spec->ternary(); }
};

/// The name that a class of one text model has: "model.layers.0.mlp.up_proj.weight" for
/// "model.language_model.layers...", "language_model.model.layers..." and "layers...".
[[nodiscard]] std::string PlainHfName(std::string_view name);

/// Parts of a folder that a text does not need: a vision tower, layers that guess tokens ahead.
[[nodiscard]] bool IsBesideTheText(std::string_view name) noexcept;

/// The tensor of a name that PlainHfName gave. Errors: kCorruptFile (a layer beyond
/// num_hidden_layers), kUnsupported (a name in no table: leaving one out can be another network).
[[nodiscard]] Result<HfTarget> FindHfTensor(const HfConfig& config, std::string_view name);

}  // namespace bittern::formats
