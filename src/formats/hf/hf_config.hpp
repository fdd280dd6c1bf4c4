// SPDX-License-Identifier: Apache-2.0
// config.json of a Hugging Face model: its numbers become GGUF's keys, and what the tensors mean
// (packed or master weights, scales that multiply or divide) is kept for hf_tensors.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json/json.hpp"
#include "base/result.hpp"
#include "formats/architecture.hpp"
#include "formats/metadata.hpp"

namespace bittern::formats {

/// How the float weights of a projection are to be read.
enum class HfFloatWeights {
  kMasters,     ///< codes are made from them by absmean, in every case
  kThresholds,  ///< so, but row by row, by a threshold (Tensor::quantize_rows)
  kEither,      ///< so, but for weights that are ternary already: those are as they are
  kAsIs,        ///< the values themselves
  kRefused,     ///< the configuration says that weights are packed
};

/// Sizes of delta layers, as model::DeltaShape has them. In a folder value head h has key head h /
/// (value_heads / key_heads).
struct HfDelta {
  std::uint64_t key_heads = 0, value_heads = 0, head_dim = 0, taps = 0;
};

/// How MLX has packed a module. bits 0: not at all.
struct HfMlxPack {
  std::uint64_t bits = 0, group_cols = 0;
};

struct HfConfig {
  std::string architecture;               ///< GGUF's name: "bitnet-b1.58", "bitnet", "llama", ...
  const ArchitectureSpec* row = nullptr;  ///< of the table, which lives forever
  std::uint64_t num_layers = 0, vocab_size = 0;
  std::uint64_t hidden_size = 0, intermediate_size = 0;
  std::uint64_t head_dim = 0;
  std::uint64_t q_size = 0, kv_size = 0;    ///< heads times head size
  std::optional<bool> tied_head;            ///< tie_word_embeddings
  bool has_quantization = false;            ///< there is a quantization_config
  std::optional<std::string> linear_class;  ///< of it: what weight_scale means (hf_scales.hpp)
  HfFloatWeights float_weights = HfFloatWeights::kAsIs;
  HfMlxPack mlx;                                              ///< of all modules but these:
  std::map<std::string, HfMlxPack, std::less<>> mlx_modules;  ///< by name, without ".weight"
  HfDelta delta;
  std::uint64_t num_experts = 0;
  bool rotated = false;  ///< by hadamard.json (hf_rotation.hpp)
  std::map<std::uint64_t, std::vector<float>> rotation_signs;  ///< of it, by width of the input
  /// LongRoPE's lists: in GGUF files these are tensors.
  std::vector<float> long_factors, short_factors;
};

/// The object of a text model in config.json: the whole, or text_config of a model with more
/// senses.
[[nodiscard]] const Json& TextConfig(const Json& whole);

/// Reads config.json and adds general.architecture, <architecture>.* (also hidden_activation and
/// rope.scaling.*) and bittern.rope_pairing to `metadata`. Errors: kUnsupported (architecture,
/// quantisation or feature, by name), kCorruptFile (a value missing or of another type).
[[nodiscard]] Result<HfConfig> ReadHfConfig(const Json& whole, Metadata* metadata);

}  // namespace bittern::formats
