// SPDX-License-Identifier: Apache-2.0
// One layer, step by step (h is the residual stream):
//
//   a = attention(q, k, v of norm(h));   h += o_proj(sub_norm(a))
//   f = act(gate(n)) * up(n), n = norm(h);   h += down_proj(sub_norm(f))
//
// Networks without sub-norms (architecture.hpp) quantise a and f as they are.
// Every projection quantises its input per token (linear.hpp); nothing else is quantised.
#include "model/block.hpp"

#include "model/attention.hpp"
#include "model/for_tokens.hpp"
#include "model/linear.hpp"
#include "model/sparse_down.hpp"
#include "model/sparse_up.hpp"
#include "model/trace_step.hpp"

namespace bittern::model {
namespace {

/// Norm of `size` inputs, which are all but zeros of `all`; the inputs themselves where the network
/// has no weights for it. Kept for who traces.
const float* Norm(const Context& context, std::size_t token, const float* input,
                  const std::vector<float>& weight, std::size_t size, std::size_t all) {
  if (weight.empty()) return input;
  float* normed = context.state.tracer == nullptr ? context.scratch().normed.data()
                                                  : context.state.normed.data() + token * size;
  context.floats().rms_norm(input, weight.data(), size, all, context.config.rms_norm_eps, normed);
  return normed;
}

/// Norm and quantisation of an input that has all its elements, ready for a projection.
void NormAndQuantize(const Context& context, std::size_t token, const float* input,
                     const std::vector<float>& weight, int size) {
  const auto all = static_cast<std::size_t>(size);
  QuantizeToken(context, token, Norm(context, token, input, weight, all, all), all);
}

/// Norm of the gated product of the neurons that are kept.
const float* NormOfProduct(const Context& context, std::size_t token, const LayerWeights& layer,
                           const float* product) {
  return Norm(context, token, product, layer.ffn_sub_norm, layer.num_neurons(),
              static_cast<std::size_t>(context.config.intermediate_size));
}

/// The same quantised, ready for down_proj.
void NormAndQuantizeProduct(const Context& context, std::size_t token, const LayerWeights& layer,
                            const float* product) {
  QuantizeToken(context, token, NormOfProduct(context, token, layer, product), layer.num_neurons());
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
                    context.config.hidden_size);
  });
  TraceStep(context, &layer, TracePoint::kAttnNorm);
  Linear(context, layer.qkv_proj, context.state.qkv.data());
  TraceShares(context, &layer, TracePoint::kQkvProj);
  Attend(context, index);
  TraceShares(context, &layer, TracePoint::kAttention);
  ForTokens(context, context.num_tokens, [&](std::size_t token) {
    const int size = context.config.q_size();
    const float* attended = context.state.attended.data() + token * static_cast<std::size_t>(size);
    NormAndQuantize(context, token, attended, layer.attn_sub_norm, size);
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
                 layer.down_proj.cols);
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
                    context.config.hidden_size);
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
