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

/// kNorm: a vector of floats. kTernary: a projection, in any ternary format. kDense: rows of the
/// embedding or the head, in any format of floats.
enum class TensorKind : std::uint8_t { kNorm, kTernary, kDense };

/// A size by what it is in the configuration: hidden_size, intermediate_size, q_size, kv_size,
/// head_dim, vocab_size. kOne: of a vector's rows.
enum class TensorSize : std::uint8_t { kOne, kHidden, kInner, kQ, kKv, kHead, kVocab };

/// kSubNorms, kHeadNorms: where ArchitectureSpec says so. kUntied: any file may have it.
enum class TensorPresence : std::uint8_t { kAlways, kSubNorms, kHeadNorms, kUntied };

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
    return presence == TensorPresence::kSubNorms    ? architecture.sub_norms
           : presence == TensorPresence::kHeadNorms ? architecture.head_norms
                                                    : true;
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

/// The row of a weight ("blk.3.attn_q.weight"); null: not in the table.
[[nodiscard]] const TensorSpec* FindWeight(std::string_view gguf_name) noexcept;

}  // namespace bittern::formats
