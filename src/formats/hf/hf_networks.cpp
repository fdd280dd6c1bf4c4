// SPDX-License-Identifier: Apache-2.0
// Each function reads what one flag of the table of architectures asks for.
#include "formats/hf/hf_networks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/display.hpp"

namespace bittern::formats {
namespace {

using config_json::CorruptConfig;
using config_json::KeyWriter;
using config_json::OptionalBool;
using config_json::OptionalFloat;
using config_json::OptionalSize;
using config_json::Present;
using config_json::Size;
using config_json::Unsupported;
using config_json::WrongType;

/// MiniCPM's numbers. GGUF has the factors that follow from them.
Result<void> WriteStreamScales(const Json& json, const HfConfig& config, KeyWriter* keys) {
  float values[3];
  const char* const kNames[] = {"scale_emb", "scale_depth", "dim_model_base"};
  for (int i = 0; i < 3; ++i) {
    const auto value = BITTERN_TRY(OptionalFloat(json, kNames[i]));
    if (!value || !(*value > 0)) {
      return CorruptConfig(fmt::format("{}: a number above 0 expected, {} found", kNames[i],
                                       value ? fmt::format("{}", *value) : "none"));
    }
    values[i] = *value;
  }
  BITTERN_TRY(keys->Float("embedding_scale", values[0]));
  const double depth = std::sqrt(static_cast<double>(config.num_layers));
  BITTERN_TRY(
      keys->Float("residual_scale", static_cast<float>(static_cast<double>(values[1]) / depth)));
  return keys->Float("logit_scale", static_cast<float>(static_cast<double>(config.hidden_size) /
                                                       static_cast<double>(values[2])));
}

/// Which layers have `kind` in layer_types; nullopt where the list is absent. Other kinds than
/// `kind` and "full_attention" are refused.
Result<std::optional<std::vector<bool>>> LayersOfKind(const Json& json, std::uint64_t num_layers,
                                                      std::string_view kind) {
  const Json* types = Present(json, "layer_types");
  if (types == nullptr) return std::nullopt;
  if (types->AsArray() == nullptr) return WrongType("layer_types", "an array of texts", *types);
  if (types->size() != num_layers) {
    return CorruptConfig(fmt::format("layer_types: {} texts expected (num_hidden_layers), {} found",
                                     num_layers, types->size()));
  }
  std::vector<bool> layers;
  for (const Json& type : types->elements()) {
    if (type.text() != kind && type.text() != "full_attention") {
      return Unsupported(fmt::format("layer_types: {} or \"full_attention\" expected, {} found",
                                     Quoted(kind), type.Shown()));
    }
    layers.push_back(type.text() == kind);
  }
  return layers;
}

/// Settings of Gemma's that the forward pass has no place for.
Result<void> RefuseOtherAttention(const Json& json, const HfConfig& config) {
  for (const char* key : {"attn_logit_softcapping", "final_logit_softcapping"}) {
    const auto cap = BITTERN_TRY(OptionalFloat(json, key));
    if (cap) return Unsupported(fmt::format("{}: null expected, {} found", key, *cap));
  }
  if (BITTERN_TRY(OptionalBool(json, "use_bidirectional_attention")).value_or(false)) {
    return Unsupported("use_bidirectional_attention: false expected, true found");
  }
  const auto scalar = BITTERN_TRY(OptionalFloat(json, "query_pre_attn_scalar"));
  if (!scalar || *scalar == static_cast<float>(config.head_dim)) return {};
  return Unsupported(fmt::format("query_pre_attn_scalar: {} expected, the size of a head, {} found",
                                 config.head_dim, *scalar));
}

/// The base of the rotation of layers with a window.
Result<float> WindowTheta(const Json& json) {
  constexpr float kTheta = 10000;
  const Json* parameters = Present(json, "rope_parameters");
  if (parameters != nullptr) parameters = Present(*parameters, "sliding_attention");
  if (parameters != nullptr) {
    const auto theta = BITTERN_TRY(OptionalFloat(*parameters, "rope_theta"));
    if (theta) return *theta;
  }
  return BITTERN_TRY(OptionalFloat(json, "rope_local_base_freq")).value_or(kTheta);
}

/// Windows of a network whose layers all have a rotation. None, where every layer sees all.
Result<void> WriteOptionalWindows(const Json& json, const ArchitectureSpec& row,
                                  const HfConfig& config, KeyWriter* keys) {
  BITTERN_TRY(RefuseOtherAttention(json, config));
  auto windowed = BITTERN_TRY(LayersOfKind(json, config.num_layers, "sliding_attention"));
  if (!windowed) {
    const auto period = BITTERN_TRY(OptionalSize(json, "sliding_window_pattern"))
                            .value_or(static_cast<std::uint64_t>(row.window_period));
    windowed.emplace();
    for (std::uint64_t i = 0; i < config.num_layers; ++i) {
      windowed->push_back((i + 1) % period != 0);
    }
  }
  if (std::ranges::find(*windowed, true) == windowed->end()) return {};
  const std::uint64_t window = BITTERN_TRY(Size(json, "sliding_window"));
  BITTERN_TRY(keys->Uint("attention.sliding_window", window));
  BITTERN_TRY(keys->Bools("attention.sliding_window_pattern", *windowed));
  const float theta = BITTERN_TRY(WindowTheta(json));
  return keys->Float("rope.freq_base_swa", theta);
}

/// The last of so many layers has keys and values: as layer_types say, or the number itself.
Result<std::uint64_t> AttentionInterval(const Json& json, std::uint64_t num_layers) {
  constexpr std::uint64_t kInterval = 4;
  const auto linear = BITTERN_TRY(LayersOfKind(json, num_layers, "linear_attention"));
  if (!linear) {
    return BITTERN_TRY(OptionalSize(json, "full_attention_interval")).value_or(kInterval);
  }
  const auto first = std::ranges::find(*linear, false);
  const auto interval = static_cast<std::uint64_t>(first - linear->begin()) + 1;
  for (std::uint64_t i = 0; i < num_layers; ++i) {
    if ((*linear)[i] == ((i + 1) % interval != 0) && interval <= num_layers) continue;
    return Unsupported(
        fmt::format("layer_types: full_attention in every {}th layer and nowhere else expected, "
                    "layer {} has another",
                    interval, i));
  }
  return interval;
}

/// Delta layers: a network of Qwen 3.5's.
Result<void> WriteDelta(const Json& json, HfConfig* config, KeyWriter* keys) {
  if (!BITTERN_TRY(OptionalBool(json, "attn_output_gate")).value_or(true)) {
    return Unsupported("attn_output_gate: true expected, false found");
  }
  HfDelta& delta = config->delta;
  delta.key_heads = BITTERN_TRY(Size(json, "linear_num_key_heads"));
  delta.value_heads = BITTERN_TRY(Size(json, "linear_num_value_heads"));
  delta.head_dim = BITTERN_TRY(Size(json, "linear_key_head_dim"));
  delta.taps = BITTERN_TRY(Size(json, "linear_conv_kernel_dim"));
  const std::uint64_t value_dim = BITTERN_TRY(Size(json, "linear_value_head_dim"));
  if (value_dim != delta.head_dim) {
    return Unsupported(
        fmt::format("linear_value_head_dim: {} as linear_key_head_dim expected, {} "
                    "found",
                    delta.head_dim, value_dim));
  }
  if (delta.value_heads % delta.key_heads != 0) {
    return CorruptConfig(fmt::format(
        "linear_num_value_heads: a multiple of linear_num_key_heads {} expected, {} found",
        delta.key_heads, delta.value_heads));
  }
  const std::uint64_t values = delta.value_heads * delta.head_dim;
  if (values + 2 * delta.key_heads * delta.head_dim > std::uint64_t{1} << 24) {
    return CorruptConfig(
        fmt::format("linear_num_value_heads {} of {}: up to 16777216 together with "
                    "the key heads expected",
                    delta.value_heads, delta.head_dim));
  }
  const std::uint64_t interval = BITTERN_TRY(AttentionInterval(json, config->num_layers));
  BITTERN_TRY(keys->Uint("full_attention_interval", interval));
  BITTERN_TRY(keys->Uint("ssm.conv_kernel", delta.taps));
  BITTERN_TRY(keys->Uint("ssm.state_size", delta.head_dim));
  BITTERN_TRY(keys->Uint("ssm.group_count", delta.key_heads));
  BITTERN_TRY(keys->Uint("ssm.time_step_rank", delta.value_heads));
  return keys->Uint("ssm.inner_size", values);
}

/// Windows of a network whose other layers have no rotation.
Result<void> WriteWindows(const Json& json, const HfConfig& config, KeyWriter* keys) {
  const auto windowed = BITTERN_TRY(LayersOfKind(json, config.num_layers, "sliding_attention"));
  if (!windowed) return CorruptConfig("layer_types is missing; an array of texts expected");
  if (!BITTERN_TRY(OptionalBool(json, "nope_on_global_attention")).value_or(true)) {
    return Unsupported("nope_on_global_attention: true expected, false found");
  }
  const std::uint64_t window = BITTERN_TRY(Size(json, "sliding_window"));
  BITTERN_TRY(keys->Uint("attention.sliding_window", window));
  return keys->Bools("attention.sliding_window_pattern", *windowed);
}

/// Experts in every layer, as Maple and Qwen3 have them; what other mixtures have besides is
/// refused.
Result<void> WriteExperts(const Json& json, HfConfig* config, KeyWriter* keys) {
  for (const char* key : {"num_shared_experts", "first_k_dense_replace"}) {
    const Json* value = Present(json, key);
    if (value == nullptr || value->AsUint() == std::uint64_t{0}) continue;
    return Unsupported(fmt::format("{}: 0 expected, {} found", key, value->Shown()));
  }
  const Json* dense = Present(json, "mlp_only_layers");
  if (dense != nullptr && (!dense->is_array() || dense->size() != 0)) {
    return Unsupported(fmt::format(
        "mlp_only_layers: an empty list expected (experts in every layer), "
        "{} found",
        dense->is_array() ? fmt::format("a list of {}", dense->size()) : dense->Shown()));
  }
  const Json* step = Present(json, "decoder_sparse_step");
  if (step != nullptr && step->AsUint() != std::uint64_t{1}) {
    return Unsupported(fmt::format("decoder_sparse_step: 1 expected, {} found", step->Shown()));
  }
  const auto sums = BITTERN_TRY(OptionalBool(json, "norm_topk_prob"));  // false where it is absent
  if (!sums.value_or(false)) {
    return Unsupported(
        fmt::format("norm_topk_prob: true expected, {} found", sums ? "false" : "nothing"));
  }
  constexpr std::uint64_t kMaxExperts = 4096;
  const bool other_name =
      Present(json, "num_local_experts") != nullptr;  // transformers 5 writes it
  config->num_experts = BITTERN_TRY(Size(json, other_name ? "num_local_experts" : "num_experts"));
  const std::uint64_t used = BITTERN_TRY(Size(json, "num_experts_per_tok"));
  if (config->num_experts > kMaxExperts || used > config->num_experts) {
    return CorruptConfig(fmt::format(
        "num_experts_per_tok and num_experts: the first up to the second and that up to {} "
        "expected, {} and {} found",
        kMaxExperts, used, config->num_experts));
  }
  BITTERN_TRY(keys->Uint("expert_count", config->num_experts));
  return keys->Uint("expert_used_count", used);
}

}  // namespace

Result<void> WriteNetworkKeys(const Json& json, const ArchitectureSpec& row, HfConfig* config,
                              KeyWriter* keys) {
  if (row.scaled_stream) BITTERN_TRY(WriteStreamScales(json, *config, keys));
  if (row.delta_layers) BITTERN_TRY(WriteDelta(json, config, keys));
  if (row.windows) BITTERN_TRY(WriteWindows(json, *config, keys));
  if (row.experts) BITTERN_TRY(WriteExperts(json, config, keys));
  if (row.expert_clamp != 0) {  // llama.cpp does not load a file without it
    const std::vector<float> clamps(config->num_layers, row.expert_clamp);
    BITTERN_TRY(keys->Floats("swiglu_clamp_exp", clamps));
  }
  if (row.window_period != 0) BITTERN_TRY(WriteOptionalWindows(json, row, *config, keys));
  return {};
}

}  // namespace bittern::formats
