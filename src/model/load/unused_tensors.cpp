// SPDX-License-Identifier: Apache-2.0
// A tensor that nothing has asked for is refused where its name says that the network needs it, and
// is else left out with a word.
#include "model/load/unused_tensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "formats/network_tensors.hpp"
#include "model/load/tensor_binder.hpp"

namespace bittern::model {
namespace {

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// N of "blk.N.attn_q.weight".
std::optional<int> LayerOf(std::string_view name) {
  constexpr std::string_view kPrefix = "blk.";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  int layer = 0;
  const char* last = name.data() + name.size();
  const auto [end, error] = std::from_chars(name.data() + kPrefix.size(), last, layer);
  if (error != std::errc() || end == last || *end != '.' || layer < 0) return std::nullopt;
  return layer;
}

/// The refusal of layers behind the last one.
Result<void> CheckLayers(const std::vector<std::string>& unused, const ModelConfig& c) {
  const std::string* highest = nullptr;
  for (const std::string& name : unused) {
    const int layer = LayerOf(name).value_or(-1);
    if (layer < c.num_layers + c.num_draft_layers) continue;
    if (highest == nullptr || layer > *LayerOf(*highest)) highest = &name;
  }
  if (highest == nullptr) return {};
  return Fail(ErrorCode::kUnsupported,
              fmt::format("{}: layers 0 to {} expected ({}.block_count is {}), {} found",
                          TensorPrefix(*highest), c.num_layers - 1, c.architecture, c.num_layers,
                          *LayerOf(*highest)),
              fmt::format("if the key is wrong, override_kv={}.block_count=int:N corrects it",
                          c.architecture));
}

bool IsSubNorm(std::string_view name) {
  const auto named = formats::ParseTensorName(name);
  return named && named->spec->presence == formats::TensorPresence::kSubNorms;
}

/// The part that the network would lack without the tensor; nullopt: nothing.
std::optional<std::string> WhyNeeded(std::string_view name, const ModelConfig& c) {
  const formats::TensorSpec* spec = formats::FindWeight(name);
  if (spec != nullptr && spec->presence == formats::TensorPresence::kDelta) {
    return "of a layer with a recurrent state, which this network does not have there";
  }
  if (spec != nullptr && spec->presence == formats::TensorPresence::kFeedForward) {
    return "of one feed-forward network, in whose place this network has experts";
  }
  if (name.starts_with("rope_factors_")) {
    return fmt::format(
        "factors of a rotation that {}.rope.scaling.type does not ask for; longrope "
        "does",
        c.architecture);
  }
  if (name.ends_with(".bias")) return "a bias, which no supported network has";
  if (IsSubNorm(name)) {
    return fmt::format("a norm that general.architecture {} does not have; BitNet models do",
                       c.architecture);
  }
  if (Contains(name, "norm")) {
    return fmt::format("a norm that general.architecture {} does not have", c.architecture);
  }
  if (name.ends_with(".input_scale")) return "a scale fixed for activations";
  if (name.ends_with("_scale") || name.ends_with(".scale")) {
    return "a scale of no ternary matrix of this network";
  }
  if (Contains(name, "attn_qkv")) {
    return "a fused matrix of q, k and v beside those of their own; which one counts is unknown";
  }
  if (Contains(name, "_exps.") || Contains(name, "_shexp.") || Contains(name, "_gate_inp.")) {
    return "of a mixture of experts";
  }
  return std::nullopt;
}

}  // namespace

Result<void> ReportUnusedTensors(const std::vector<std::string>& unused, const ModelConfig& config,
                                 Decisions* decisions) {
  BITTERN_TRY(CheckLayers(unused, config));
  for (const std::string& name : unused) {
    if (LayerOf(name).value_or(-1) >= config.num_layers)
      continue;  // reported with the configuration
    if (const auto why = WhyNeeded(name, config)) {
      return Fail(ErrorCode::kUnsupported,
                  fmt::format("{} is part of a network that is not supported: it is {}",
                              TensorPrefix(name), *why),
                  IsSubNorm(name) ? "override_kv=general.architecture=str:bitnet-b1.58" : "");
    }
    decisions->push_back({"tensor " + name, "ignored", "not part of this architecture", true});
  }
  return {};
}

}  // namespace bittern::model
