// SPDX-License-Identifier: Apache-2.0
// Looking at a forward pass from outside, step by step: what a certificate hashes. Off unless
// ForwardState::SetTracer was called; then it costs one null pointer test a step. Kernels know
// nothing of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace bittern::model {

/// Where values are taken, in the order of computing. Only canonical ones: what every right way of
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

/// Where values were taken.
struct TracePlace {
  int sequence;  ///< Segment::tag of the token's sequence
  int layer;     ///< -1 outside the layers
  TracePoint point;
  int position;  ///< of the token in its sequence
};

/// Receives the values. Calls come from one thread at a time, for each step token by token in
/// their order in the batch; the values of one token may come in several parts. Zeros are +0.
class Tracer {
 public:
  virtual ~Tracer() = default;
  /// values: little-endian float32, or int8, as TracePoint says. Valid during the call only.
  virtual void OnValues(const TracePlace& place, std::span<const std::byte> values) noexcept = 0;
  /// For tests of what finds faults: may change what the next step reads, before OnValues shows it.
  /// values: floats of the place, but of norms the scales of the int8 values; of qkv_proj all three
  /// parts with their padding, of rope q. Not called for final_norm and head. A product whose zeros
  /// are skipped (LoadOptions::zero_skip) may have been used already. Called as OnValues.
  virtual void Change(const TracePlace& place, std::span<float> values) noexcept;
};

}  // namespace bittern::model
