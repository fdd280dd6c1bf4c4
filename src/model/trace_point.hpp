// SPDX-License-Identifier: Apache-2.0
// The named places of a forward pass: where a tracer looks (trace.hpp), and where a token's values
// were first not finite (row_failure.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace bittern::model {

/// The places of values, in the order of computing. Only canonical ones: what every right way of
/// computing the network must have there, whatever the layout, batch, threads or shortcuts.
enum class TracePoint : std::uint8_t {
  kEmbedding,     ///< (hidden_size): the residual stream before the first layer
  kAttnNorm,      ///< (hidden_size): normed, then as int8 with its scale
  kQkvProj,       ///< (q_size + 2 kv_size): q, k, v
  kRope,          ///< (q_size + kv_size): q (as attention reads it) and k, rotated
  kAttention,     ///< (q_size)
  kAttnSubNorm,   ///< (q_size): as kAttnNorm; without sub-norms the int8 and scale only
  kOProj,         ///< (hidden_size)
  kAttnResidual,  ///< (hidden_size): the residual stream after attention
  kFfnNorm,       ///< (hidden_size): as kAttnNorm
  kGate,          ///< (intermediate_size): the gate before its activation
  kAct,           ///< (intermediate_size): act(gate) * up
  kFfnSubNorm,    ///< (intermediate_size): as kAttnSubNorm
  kDownProj,      ///< (hidden_size)
  kFfnResidual,   ///< (hidden_size): the residual stream after the layer
  kFinalNorm,     ///< (hidden_size), of the rows whose logits were asked for
  kHead,          ///< (vocab_size): logits of those rows
};
inline constexpr std::size_t kNumTracePoints = 16;
/// Points of one layer: kAttnNorm to kFfnResidual.
inline constexpr std::size_t kNumLayerPoints = 13;

/// "attn_norm", "qkv_proj", ...
[[nodiscard]] std::string_view TracePointName(TracePoint point) noexcept;

}  // namespace bittern::model
