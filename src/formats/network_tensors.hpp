// SPDX-License-Identifier: Apache-2.0
// The one table of tensors (network_tensors.def): names, shapes in terms of the configuration, and
// which networks have them. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "formats/architecture.hpp"

namespace bittern::formats {

enum class TensorId : std::uint8_t {
#define TENSOR(id, ...) id,
#define HF_ALIAS(id, hf)
#include "formats/network_tensors.def"
#undef TENSOR
#undef HF_ALIAS
};

/// Once in the file, or once in every layer.
enum class TensorPlace : std::uint8_t { kModel, kLayer };

/// kNorm, kValues: a vector of floats; the names of kValues are whole. kTernary: a projection, in
/// any ternary format. kDense: rows of the embedding or the head, in any format of floats. kFloats:
/// a small matrix of floats.
enum class TensorKind : std::uint8_t { kNorm, kValues, kTernary, kDense, kFloats };

/// Floats of a layer that are no norm.
[[nodiscard]] constexpr bool IsFloats(TensorKind kind) noexcept {
  return kind == TensorKind::kValues || kind == TensorKind::kFloats;
}

/// A size, named as in the configuration. kOne: the rows of a vector. kQRows: q_size, and as many
/// rows again where attention has a gate. kMix to kTaps: of delta layers (model::DeltaShape).
/// kExperts: how many there are; kExpertInner: the neurons of one; kExpertsInner, kExpertsHidden:
/// the rows of all experts, one expert after the other.
enum class TensorSize : std::uint8_t {
  kOne,
  kHidden,
  kInner,
  kQ,
  kQRows,
  kKv,
  kHead,
  kVocab,
  kMix,
  kDeltaValue,
  kDeltaHeads,
  kDeltaHead,
  kTaps,
  kExperts,
  kExpertInner,
  kExpertsInner,
  kExpertsHidden
};

/// The networks and layers that have a tensor. ArchitectureSpec tells for kSubNorms, kHeadNorms and
/// kDelta. kAttention and kHeadNorms stand in layers with keys and values, kDelta in the others.
/// kFfnNorm and kPostNorm are two names of one norm in networks without norms behind projections:
/// those with delta layers have the second. Networks with such norms have both, and kPostNorms.
/// Files of some architectures may have kInputNorms: ModelConfig::input_norms tells.
/// Networks with experts have kMixture in place of kFeedForward.
/// Any file may have kUntied.
enum class TensorPresence : std::uint8_t {
  kAlways,
  kAttention,
  kSubNorms,
  kHeadNorms,
  kDelta,
  kFfnNorm,
  kPostNorm,
  kPostNorms,
  kInputNorms,
  kFeedForward,
  kMixture,
  kUntied
};

struct TensorSpec {
  TensorId id;
  std::string_view gguf, hf;  ///< "attn_q", "self_attn.q_proj"
  TensorPlace place;
  TensorKind kind;
  TensorSize rows, cols;
  TensorPresence presence;

  [[nodiscard]] constexpr bool of_layer() const noexcept { return place == TensorPlace::kLayer; }
  [[nodiscard]] constexpr bool ternary() const noexcept { return kind == TensorKind::kTernary; }
  /// Whether a network of this architecture reads the tensor where a file has it.
  [[nodiscard]] constexpr bool IsOf(const ArchitectureSpec& architecture) const noexcept {
    switch (presence) {
      case TensorPresence::kSubNorms:
        return architecture.sub_norms;
      case TensorPresence::kHeadNorms:
        return architecture.head_norms;
      case TensorPresence::kDelta:
        return architecture.delta_layers;
      case TensorPresence::kPostNorm:
        return architecture.delta_layers || architecture.post_norms;
      case TensorPresence::kPostNorms:
        return architecture.post_norms;
      case TensorPresence::kInputNorms:
        return architecture.input_norms;
      case TensorPresence::kFfnNorm:
        return !architecture.delta_layers;
      case TensorPresence::kFeedForward:
        return !architecture.experts;
      case TensorPresence::kMixture:
        return architecture.experts;
      case TensorPresence::kAlways:
      case TensorPresence::kAttention:
      case TensorPresence::kUntied:
        break;
    }
    return true;
  }
  /// Whether a layer has it, in a network that has it: a delta layer, or one with keys and values.
  [[nodiscard]] constexpr bool IsOfLayer(bool delta) const noexcept {
    if (presence == TensorPresence::kDelta) return delta;
    return !delta ||
           (presence != TensorPresence::kAttention && presence != TensorPresence::kHeadNorms);
  }
};

/// Indexed by TensorId.
inline constexpr TensorSpec kNetworkTensors[] = {
#define TENSOR(id, gguf, hf, place, kind, rows, cols, presence) \
  {TensorId::id,                                                \
   gguf,                                                        \
   hf,                                                          \
   TensorPlace::place,                                          \
   TensorKind::kind,                                            \
   TensorSize::rows,                                            \
   TensorSize::cols,                                            \
   TensorPresence::presence},
#define HF_ALIAS(id, hf)
#include "formats/network_tensors.def"
#undef TENSOR
#undef HF_ALIAS
};

[[nodiscard]] constexpr const TensorSpec& SpecOf(TensorId id) noexcept {
  return kNetworkTensors[static_cast<std::size_t>(id)];
}

/// GGUF's name of a weight: "blk.3.attn_q.weight", "output.weight". layer: of tensors of a layer.
[[nodiscard]] std::string TensorName(TensorId id, int layer = 0);
/// Without the layer: "attn_q.weight".
[[nodiscard]] std::string TensorKindName(TensorId id);

/// A name of GGUF's whose middle is in the table. Views of the name.
struct NamedTensor {
  const TensorSpec* spec;
  std::string_view layer;  ///< "3" of a tensor of layer 3; empty outside the layers
  std::string_view part;   ///< ".weight", ".bias", ".scale", ...
};
[[nodiscard]] std::optional<NamedTensor> ParseTensorName(std::string_view gguf_name) noexcept;

/// The row of a weight ("blk.3.attn_q.weight", "blk.3.ssm_a"); null: not in the table.
[[nodiscard]] const TensorSpec* FindWeight(std::string_view gguf_name) noexcept;

}  // namespace bittern::formats
