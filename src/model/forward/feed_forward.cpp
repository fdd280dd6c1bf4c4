// SPDX-License-Identifier: Apache-2.0
// The steps of the feed-forward part: gate and up, their product, down and the residual stream. The
// dense way, the way that leaves out zeros and the one of experts share the step in the middle.
#include "model/forward/feed_forward.hpp"

#include <algorithm>

#include "kernels/kernel.h"
#include "model/forward/experts.hpp"
#include "model/forward/norm.hpp"
#include "model/forward/sparse_down.hpp"
#include "model/forward/sparse_up.hpp"
#include "model/forward/steps.hpp"

namespace bittern::model {
namespace {

/// The input of gate_proj and up_proj. The one with the larger weights is named.
ProjectionInput GateUpInput(const LayerWeights& layer, int index) {
  const TernaryMatrix& up = layer.skips_zeros() ? layer.up_proj : layer.gate_up_proj;
  const float gate_limit = layer.gate_up_proj.parts.front().act_limit;
  const float up_limit = up.parts.back().act_limit;
  return {{index, TracePoint::kAttnResidual},
          {index, gate_limit >= up_limit ? TracePoint::kGate : TracePoint::kAct},
          std::max(gate_limit, up_limit)};
}

/// The input of down_proj.
ProjectionInput DownInput(const LayerWeights& layer, int index) {
  return {{index, TracePoint::kAct}, {index, TracePoint::kDownProj}, layer.down_proj.act_limit()};
}

/// act(gate) * up of one token, in place of the gate.
void ApplyGate(const Context& context, const LayerWeights& layer, float* gate) {
  float* up =
      gate + (layer.has_experts() ? layer.num_neurons() : layer.gate_up_proj.parts[1].first_row);
  if (layer.has_experts()) ClampGates(layer.experts, gate, up);
  const kernels::FloatOps& ops = context.floats();
  const Activation activation = context.config.activation;
  const auto apply = activation == Activation::kRelu2  ? ops.relu2_mul
                     : activation == Activation::kSilu ? ops.silu_mul
                                                       : ops.gelu_mul;
  apply(gate, up, layer.num_neurons(), gate);
}

/// A token's f of the neurons that are kept, as down_proj reads it.
void NormProduct(const Context& context, std::size_t token, const LayerWeights& layer,
                 const float* product, const QuantizedRows& out) {
  const ProjectionInput place = DownInput(layer, context.IndexOf(layer));
  const float* normed =
      Norm(context, token, product, layer.ffn_sub_norm, out.cols,
           static_cast<std::size_t>(context.config.intermediate_size), place.from);
  if (layer.skips_zeros() && !out.is_decode()) {
    return QuantizeLive(context, token, normed, place, out, &context.state.live_inputs);
  }
  QuantizeToken(context, token, normed, place, out);
}

/// The products of all ranks' neurons, from their gates, which GatedUp has made products of where
/// zeros are skipped.
void ExchangeProduct(const Context& context, const LayerWeights& layer) {
  ForwardState::Impl& rows = context.state;
  if (!layer.skips_zeros()) {
    ForTokens(context, context.num_tokens,
              [&](std::size_t token) { ApplyGate(context, layer, rows.gate_up.row(token)); });
  }
  Exchange(context, RankStep::kNeurons, rows.gate_up, rows.exchanged.product,
           layer.neurons_of_ranks.parts(), layer.has_experts() ? layer.experts.used : 1);
}

/// gate and up from their input, which was made of `hidden`.
void ProjectGateUp(const Context& context, const LayerWeights& layer, const QuantizedRows& in,
                   FloatRows hidden) {
  if (layer.gate_up_parts.empty()) {
    Linear(context, in, layer.gate_up_proj, context.state.gate_up);
  } else {
    const std::vector<float>* const norms[] = {&layer.gate_input_norm, &layer.up_input_norm};
    ProjectParts(context,
                 {hidden, layer.ffn_norm, norms, layer.gate_up_parts, layer.gate_up_proj,
                  GateUpInput(layer, context.IndexOf(layer))},
                 in, context.state.gate_up);
  }
  TraceShares(context, &layer, TracePoint::kGate);
}

}  // namespace

void NormForFeedForward(const Context& context, std::size_t token, const LayerWeights& layer,
                        FloatRows hidden, const QuantizedRows& out) {
  const float* normed =
      NormAndQuantize(context, token, hidden, layer.ffn_norm,
                      GateUpInput(layer, context.IndexOf(layer)), out, layer.gate_input_norm);
  if (layer.has_experts()) {
    std::copy_n(normed, out.cols, context.state.router_input.row(token));
  }
  if (layer.skips_zeros()) OrderUpInput(context, token, out);
}

void AddFeedForward(const Context& context, const LayerWeights& layer, const QuantizedRows& in,
                    FloatRows hidden) {
  ForwardState::Impl& rows = context.state;
  const RankCut& hidden_cut = context.weights.shares.hidden;
  const bool skips = layer.skips_zeros(), shared = context.weights.shares.shared();
  const QuantizedRows down_input = context.Quantized(layer.all_neurons());
  if (skips) {
    GatedUp(context, layer, in, rows.gate_up, rows.up);
  } else if (layer.has_experts()) {
    ForwardExpertsUp(context, layer, in, rows.gate_up);
    TraceShares(context, &layer, TracePoint::kGate);
  } else {
    ProjectGateUp(context, layer, in, hidden);
  }
  if (shared) ExchangeProduct(context, layer);
  StepOfTokens(context, layer, {TracePoint::kAct, TracePoint::kFfnSubNorm}, [&](std::size_t token) {
    float* product = (shared ? rows.exchanged.product : rows.gate_up).row(token);
    if (!skips && !shared) ApplyGate(context, layer, product);  // in place of the gate
    NormProduct(context, token, layer, product, down_input);
  });
  if (skips && down_input.is_decode() && !shared) {
    AddDownOfFew(context, down_input, layer.down_proj, rows.projected, hidden);
    TraceShares(context, &layer, TracePoint::kDownProj);
  } else {
    const FloatRows mine = PartHere(context, rows.projected, hidden_cut);
    if (skips && down_input.is_decode()) {
      AddDownOfFew(context, down_input, layer.down_proj, mine, {});
    } else if (skips) {
      DownOfBatch(context, down_input, rows.live_inputs, layer.down_proj, mine);
    } else if (layer.has_experts()) {
      ForwardExpertsDown(context, layer, down_input, mine);
    } else {
      Linear(context, down_input, layer.down_proj, mine);
    }
    Exchange(context, RankStep::kDown, mine, rows.projected, hidden_cut.parts());
    TraceShares(context, &layer, TracePoint::kDownProj);
    ForTokens(context, context.num_tokens, [&](std::size_t token) {
      AddNormed(context, token, rows.projected, layer.ffn_post_norm,
                {context.IndexOf(layer), TracePoint::kDownProj}, hidden);
    });
  }
  TraceShares(context, &layer, TracePoint::kFfnResidual);
}

}  // namespace bittern::model
