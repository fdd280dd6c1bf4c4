// SPDX-License-Identifier: Apache-2.0
// Three steps with barriers between them: every token's convolution; every head's way through the
// tokens of its sequence, shared out by heads; every token's norm and gate.
#include "model/forward/delta.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include "base/portable_math.hpp"
#include "kernels/kernel.h"
#include "model/forward/exchange.hpp"
#include "model/forward/for_tokens.hpp"
#include "model/forward/linear.hpp"
#include "model/forward/trace_step.hpp"

namespace bittern::model {
namespace {

constexpr std::size_t kMostTaps = 64;  // config.cpp refuses more

std::size_t AsSize(int value) { return static_cast<std::size_t>(value); }

/// log(1 + e^x).
double Softplus(double x) {
  constexpr double kLarge = 40;  // from here on it is x to the last bit
  return x > kLarge ? x : Log(1 + Exp(x));
}

/// A layer and the rows that it works on.
struct Delta {
  const Context& context;
  const LayerWeights& layer;
  FloatRows projected, out;
  DeltaShape heads_here = context.config.DeltaHere();

  [[nodiscard]] int index() const noexcept { return context.IndexOf(layer); }
  [[nodiscard]] const DeltaShape& shape() const noexcept { return heads_here; }
  /// The state of a segment's sequence: matrices, then the last inputs of the convolution.
  [[nodiscard]] float* state(const Segment& segment) const noexcept {
    return segment.sequence->state(context.config.DeltaLayersBefore(index()));
  }
  [[nodiscard]] float* history(const Segment& segment) const noexcept {
    return state(segment) + AsSize(shape().value_size()) * AsSize(shape().head_dim);
  }
};

/// Convolution, SiLU, and the norms of queries and keys, of one token.
void MixToken(const Delta& delta, std::size_t token) {
  const Context& context = delta.context;
  const DeltaShape& shape = delta.shape();
  const std::size_t taps = AsSize(shape.taps), size = AsSize(shape.mix_size());
  const Segment& segment = context.segment(token);
  const std::size_t index = context.position(token) - AsSize(segment.sequence->length());
  const float* rows[kMostTaps];
  for (std::size_t tap = 0; tap < taps; ++tap) {
    const std::size_t back = taps - 1 - tap;  // tokens ago
    rows[tap] = back <= index ? delta.projected.row(token - back)
                              : delta.history(segment) + (index + tap) * size;
  }
  float* mixed = context.state.mixed.row(token);
  const kernels::ConvArgs args{.rows = rows,
                               .weights = delta.layer.delta.conv.data(),
                               .num_taps = taps,
                               .size = size,
                               .out = mixed};
  context.floats().conv_silu(&args);
  const std::size_t dim = AsSize(shape.head_dim), heads = AsSize(shape.key_heads);
  constexpr float kEps = 1e-6f;  // of the sum of squares (transformers' l2norm)
  for (std::size_t head = 0; head < 2 * heads; ++head) {
    const std::vector<float>& unit =
        head < heads ? delta.layer.delta.query_unit : delta.layer.delta.key_unit;
    float* row = mixed + head * dim;
    if (!context.floats().rms_norm(row, unit.data(), dim, dim, kEps / static_cast<float>(dim),
                                   row)) {
      RecordFailure(context, token, {delta.index(), TracePoint::kRope});
    }
  }
}

/// One value head through all tokens of a segment, of which the first is row `first`.
void RunHead(const Delta& delta, const Segment& segment, std::size_t first, std::size_t head) {
  const DeltaShape& shape = delta.shape();
  const std::size_t dim = AsSize(shape.head_dim), heads = AsSize(shape.value_heads);
  const std::size_t key_head = head % AsSize(shape.key_heads), keys = AsSize(shape.key_size());
  const ForwardState::Impl& rows = delta.context.state;
  const float* mixed = rows.mixed.row(first);
  const float* gates = rows.delta_gates.row(first);
  const kernels::DeltaArgs args{.state = delta.state(segment) + head * dim * dim,
                                .queries = mixed + key_head * dim,
                                .keys = mixed + keys + key_head * dim,
                                .values = mixed + 2 * keys + head * dim,
                                .stride = rows.mixed.stride,
                                .decays = gates + heads + head,
                                .rates = gates + head,
                                .gate_stride = rows.delta_gates.stride,
                                .out = delta.out.row(first) + head * dim,
                                .out_stride = delta.out.stride,
                                .num_tokens = segment.tokens.size(),
                                .key_dim = dim,
                                .value_dim = dim};
  delta.context.floats().delta_rule(&args);
}

/// Keeps the last taps - 1 inputs of the convolution for the next pass.
void KeepHistory(const Delta& delta, const Segment& segment, std::size_t first) {
  const std::size_t kept = AsSize(delta.shape().taps) - 1, size = AsSize(delta.shape().mix_size());
  const std::size_t count = segment.tokens.size(), old = kept - std::min(kept, count);
  float* history = delta.history(segment);
  std::memmove(history, history + (kept - old) * size, old * size * sizeof(float));
  for (std::size_t i = old; i < kept; ++i) {
    std::memcpy(history + i * size, delta.projected.row(first + count - kept + i),
                size * sizeof(float));
  }
}

void RunHeads(const Delta& delta) {
  const Context& context = delta.context;
  const std::size_t heads = AsSize(delta.shape().value_heads);
  context.team.Deal(context.segments.size() * heads, 1, [&](Range range) {
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const Segment& segment = context.segments[i / heads];
      std::size_t first = 0;
      for (std::size_t s = 0; s < i / heads; ++s) first += context.segments[s].tokens.size();
      RunHead(delta, segment, first, i % heads);
      if (i % heads == 0) KeepHistory(delta, segment, first);
    }
  });
}

/// Norm and gate of one token's heads.
void GateToken(const Delta& delta, std::size_t token) {
  const Context& context = delta.context;
  const std::size_t dim = AsSize(delta.shape().head_dim);
  const float* gate = delta.projected.row(token) + delta.layer.qkv_proj.parts[1].first_row;
  float* out = delta.out.row(token);
  for (std::size_t head = 0; head < AsSize(delta.shape().value_heads); ++head) {
    float* row = out + head * dim;
    if (!context.floats().rms_norm(row, delta.layer.delta_norm.data(), dim, dim,
                                   context.config.rms_norm_eps, row)) {
      RecordFailure(context, token, {delta.index(), TracePoint::kAttention});
    }
  }
  context.floats().silu_mul(gate, out, AsSize(delta.shape().value_size()), out);
}

}  // namespace

void ComputeDeltaGates(const Context& context, std::size_t token, const LayerWeights& layer,
                       const float* normed) {
  const std::size_t heads = AsSize(context.config.DeltaHere().value_heads);
  float* gates = context.state.delta_gates.row(token);
  context.floats().dot_f32(layer.delta.gates.data(), 2 * heads, AsSize(context.config.hidden_size),
                           normed, gates);
  for (std::size_t head = 0; head < heads; ++head) {
    float &rate = gates[head], &decay = gates[heads + head];
    const double step =
        static_cast<double>(decay) + static_cast<double>(layer.delta.step_bias[head]);
    const bool finite = std::isfinite(rate) && std::isfinite(step);
    constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
    decay = finite ? static_cast<float>(
                         Exp(static_cast<double>(layer.delta.decay_scale[head]) * Softplus(step)))
                   : kNone;
    rate = finite ? static_cast<float>(1 / (1 + Exp(-static_cast<double>(rate)))) : kNone;
  }
}

void RunDelta(const Context& context, const LayerWeights& layer, FloatRows projected,
              FloatRows out) {
  const Delta delta{context, layer, projected, out};
  ForTokens(context, context.num_tokens, [&](std::size_t token) { MixToken(delta, token); });
  TraceStep(context, &layer, TracePoint::kRope);
  RunHeads(delta);
  ForTokens(context, context.num_tokens, [&](std::size_t token) { GateToken(delta, token); });
  ExchangeDelta(context, out);
  TraceShares(context, &layer, TracePoint::kAttention);
}

}  // namespace bittern::model
