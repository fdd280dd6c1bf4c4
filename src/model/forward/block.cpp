// SPDX-License-Identifier: Apache-2.0
// One layer, step by step (h is the residual stream):
//
//   a = attention(q, k, v of norm(h));   h += o_proj(sub_norm(a))
//   f = act(gate(n)) * up(n), n = norm(h);   h += down_proj(sub_norm(f))
//
// Networks without sub-norms (architecture.hpp) quantise a and f as they are.
// Every projection quantises its input per token (linear.hpp); nothing else is quantised.
#include "model/forward/block.hpp"

#include <algorithm>

#include "kernels/kernel.h"
#include "model/forward/attention.hpp"
#include "model/forward/for_tokens.hpp"
#include "model/forward/linear.hpp"
#include "model/forward/sparse_down.hpp"
#include "model/forward/sparse_up.hpp"
#include "model/forward/trace_step.hpp"

namespace bittern::model {
namespace {

/// Norm of `size` inputs, which are all but zeros of `all`; the inputs themselves where the network
/// has no weights for it. Kept for tracers. `from`: what the inputs are.
const float* Norm(const Context& context, std::size_t token, const float* input,
                  const std::vector<float>& weight, std::size_t size, std::size_t all,
                  const RowFailure& from) {
  if (weight.empty()) return input;
  float* normed = context.state.tracer == nullptr ? context.scratch().normed.data()
                                                  : context.state.normed.data() + token * size;
  if (!context.floats().rms_norm(input, weight.data(), size, all, context.config.rms_norm_eps,
                                 normed)) {
    RecordFailure(context, token, from);
  }
  return normed;
}

/// Norm and quantisation of an input that has all its elements, ready for a projection.
void NormAndQuantize(const Context& context, std::size_t token, const float* input,
                     const std::vector<float>& weight, int size, const ProjectionInput& place) {
  const auto all = static_cast<std::size_t>(size);
  const float* normed = Norm(context, token, input, weight, all, all, place.from);
  QuantizeToken(context, token, normed, all, place);
}

int IndexOf(const Context& context, const LayerWeights& layer) {
  return static_cast<int>(&layer - context.weights.layers.data());
}

/// What qkv_proj reads.
ProjectionInput QkvInput(const LayerWeights& layer, int index) {
  const RowFailure embedding, residual{index - 1, TracePoint::kFfnResidual};
  return {
      index == 0 ? embedding : residual, {index, TracePoint::kQkvProj}, layer.qkv_proj.act_limit()};
}

/// What o_proj reads.
ProjectionInput OInput(const LayerWeights& layer, int index) {
  return {{index, TracePoint::kAttention}, {index, TracePoint::kOProj}, layer.o_proj.act_limit()};
}

/// What gate_proj and up_proj read. Of the two, the one with the larger weights is named.
ProjectionInput GateUpInput(const LayerWeights& layer, int index) {
  const TernaryMatrix& up = layer.skips_zeros() ? layer.up_proj : layer.gate_up_proj;
  const float gate_limit = layer.gate_up_proj.parts.front().act_limit;
  const float up_limit = up.parts.back().act_limit;
  return {{index, TracePoint::kAttnResidual},
          {index, gate_limit >= up_limit ? TracePoint::kGate : TracePoint::kAct},
          std::max(gate_limit, up_limit)};
}

/// What down_proj reads.
ProjectionInput DownInput(const LayerWeights& layer, int index) {
  return {{index, TracePoint::kAct}, {index, TracePoint::kDownProj}, layer.down_proj.act_limit()};
}

/// Norm of the gated product of the neurons that are kept.
const float* NormOfProduct(const Context& context, std::size_t token, const LayerWeights& layer,
                           const float* product) {
  return Norm(context, token, product, layer.ffn_sub_norm, layer.num_neurons(),
              static_cast<std::size_t>(context.config.intermediate_size),
              {IndexOf(context, layer), TracePoint::kAct});
}

/// The same quantised, ready for down_proj.
void NormAndQuantizeProduct(const Context& context, std::size_t token, const LayerWeights& layer,
                            const float* product) {
  QuantizeToken(context, token, NormOfProduct(context, token, layer, product), layer.num_neurons(),
                DownInput(layer, IndexOf(context, layer)));
}

float* Hidden(const Context& context, std::size_t token) {
  return context.state.hidden.data() + token * static_cast<std::size_t>(context.config.hidden_size);
}

/// h += state.projected, the output of `projection`.
void AddResidual(const Context& context, std::size_t token, const TernaryMatrix& projection) {
  context.floats().add(Hidden(context, token),
                       context.state.projected.data() + token * projection.padded_rows(),
                       static_cast<std::size_t>(context.config.hidden_size));
}

void RunAttention(const Context& context, int index, const LayerWeights& layer) {
  ForTokens(context, context.num_tokens, [&](std::size_t token) {
    NormAndQuantize(context, token, Hidden(context, token), layer.attn_norm,
                    context.config.hidden_size, QkvInput(layer, index));
  });
  TraceStep(context, &layer, TracePoint::kAttnNorm);
  Linear(context, layer.qkv_proj, context.state.qkv.data());
  TraceShares(context, &layer, TracePoint::kQkvProj);
  Attend(context, index);
  TraceShares(context, &layer, TracePoint::kAttention);
  ForTokens(context, context.num_tokens, [&](std::size_t token) {
    const int size = context.config.q_size();
    const float* attended = context.state.attended.data() + token * static_cast<std::size_t>(size);
    NormAndQuantize(context, token, attended, layer.attn_sub_norm, size, OInput(layer, index));
  });
  TraceStep(context, &layer, TracePoint::kAttnSubNorm);
  Linear(context, layer.o_proj, context.state.projected.data());
  TraceShares(context, &layer, TracePoint::kOProj);
}

/// act(gate) * up of one token, in place of the gate.
const float* ApplyGate(const Context& context, std::size_t token, const LayerWeights& layer) {
  const TernaryMatrix& projection = layer.gate_up_proj;
  float* gate = context.state.gate_up.data() + token * projection.padded_rows();
  const float* up = gate + projection.parts[1].first_row;
  const auto apply = context.config.activation == Activation::kRelu2 ? context.floats().relu2_mul
                                                                     : context.floats().silu_mul;
  apply(gate, up, projection.parts[0].rows, gate);
  return gate;
}

/// h += down_proj's output, of all tokens.
void AddDown(const Context& context, const LayerWeights& layer) {
  TraceShares(context, &layer, TracePoint::kDownProj);
  ForTokens(context, context.num_tokens,
            [&](std::size_t token) { AddResidual(context, token, layer.down_proj); });
  TraceShares(context, &layer, TracePoint::kFfnResidual);
}

/// Gated product, norm and down_proj without the terms that are zero.
void RunSkipping(const Context& context, const LayerWeights& layer) {
  GatedUp(context, layer);
  ForTokens(context, context.num_tokens, [&](std::size_t token) {
    const float* product = context.state.gate_up.data() + token * layer.gate_up_proj.padded_rows();
    if (context.few()) return NormAndQuantizeProduct(context, token, layer, product);
    QuantizeLive(context, token, NormOfProduct(context, token, layer, product),
                 layer.down_proj.cols, DownInput(layer, IndexOf(context, layer)));
  });
  TraceStep(context, &layer, TracePoint::kAct);
  TraceStep(context, &layer, TracePoint::kFfnSubNorm);
  if (!context.few()) {
    DownOfBatch(context, layer);
    return AddDown(context, layer);
  }
  AddDownOfFew(context, layer);
  TraceShares(context, &layer, TracePoint::kDownProj);
  TraceShares(context, &layer, TracePoint::kFfnResidual);
}

void RunFeedForward(const Context& context, const LayerWeights& layer) {
  ForTokens(context, context.num_tokens, [&](std::size_t token) {
    AddResidual(context, token, layer.o_proj);
    NormAndQuantize(context, token, Hidden(context, token), layer.ffn_norm,
                    context.config.hidden_size, GateUpInput(layer, IndexOf(context, layer)));
    if (layer.skips_zeros()) OrderUpInput(context, layer, token);
  });
  TraceStep(context, &layer, TracePoint::kAttnResidual);
  TraceStep(context, &layer, TracePoint::kFfnNorm);
  if (layer.skips_zeros()) return RunSkipping(context, layer);
  Linear(context, layer.gate_up_proj, context.state.gate_up.data());
  TraceShares(context, &layer, TracePoint::kGate);
  ForTokens(context, context.num_tokens, [&](std::size_t token) {
    NormAndQuantizeProduct(context, token, layer, ApplyGate(context, token, layer));
  });
  TraceStep(context, &layer, TracePoint::kAct);
  TraceStep(context, &layer, TracePoint::kFfnSubNorm);
  Linear(context, layer.down_proj, context.state.projected.data());
  AddDown(context, layer);
}

}  // namespace

void RunBlock(const Context& context, int layer) {
  const LayerWeights& weights = context.weights.layers[static_cast<std::size_t>(layer)];
  RunAttention(context, layer, weights);
  RunFeedForward(context, weights);
}

}  // namespace bittern::model
