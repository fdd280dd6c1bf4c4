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

}  // namespace

Result<void> WriteNetworkKeys(const Json& json, const ArchitectureSpec& row, HfConfig* config,
                              KeyWriter* keys) {
  if (row.scaled_stream) BITTERN_TRY(WriteStreamScales(json, *config, keys));
  if (row.window_period != 0) BITTERN_TRY(WriteOptionalWindows(json, row, *config, keys));
  return {};
}

}  // namespace bittern::formats
