// SPDX-License-Identifier: Apache-2.0
#include "model/forward/feed_forward.hpp"

#include <algorithm>

#include "kernels/kernel.h"
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
  const TernaryMatrix& projection = layer.gate_up_proj;
  const auto apply = context.config.activation == Activation::kRelu2 ? context.floats().relu2_mul
                                                                     : context.floats().silu_mul;
  apply(gate, gate + projection.parts[1].first_row, projection.parts[0].rows, gate);
}

/// A token's f of the neurons that are kept, as down_proj reads it.
void NormProduct(const Context& context, std::size_t token, const LayerWeights& layer,
                 const float* product, const QuantizedRows& out) {
  const ProjectionInput place = DownInput(layer, context.IndexOf(layer));
  const float* normed =
      Norm(context, token, product, layer.ffn_sub_norm, out.cols,
           static_cast<std::size_t>(context.config.intermediate_size), place.from);
  if (layer.skips_zeros() && !out.few()) {
    return QuantizeLive(context, token, normed, place, out, &context.state.live_inputs);
  }
  QuantizeToken(context, token, normed, place, out);
}

}  // namespace

void NormForFeedForward(const Context& context, std::size_t token, const LayerWeights& layer,
                        FloatRows hidden, const QuantizedRows& out) {
  NormAndQuantize(context, token, hidden, layer.ffn_norm,
                  GateUpInput(layer, context.IndexOf(layer)), out);
  if (layer.skips_zeros()) OrderUpInput(context, token, out);
}

void AddFeedForward(const Context& context, const LayerWeights& layer, const QuantizedRows& in,
                    FloatRows hidden) {
  ForwardState::Impl& rows = context.state;
  const bool skips = layer.skips_zeros();
  const QuantizedRows down_input = context.Quantized(layer.down_proj.cols);
  if (skips) {
    GatedUp(context, layer, in, rows.gate_up, rows.up);
  } else {
    Project(context, layer, TracePoint::kGate, in, layer.gate_up_proj, rows.gate_up);
  }
  StepOfTokens(context, layer, {TracePoint::kAct, TracePoint::kFfnSubNorm}, [&](std::size_t token) {
    float* product = rows.gate_up.row(token);  // of a gate, where none is skipped
    if (!skips) ApplyGate(context, layer, product);
    NormProduct(context, token, layer, product, down_input);
  });
  if (skips && down_input.few()) {
    AddDownOfFew(context, down_input, layer.down_proj, rows.projected, hidden);
    TraceShares(context, &layer, TracePoint::kDownProj);
  } else {
    if (skips) {
      DownOfBatch(context, down_input, rows.live_inputs, layer.down_proj, rows.projected);
    } else {
      Linear(context, down_input, layer.down_proj, rows.projected);
    }
    TraceShares(context, &layer, TracePoint::kDownProj);
    ForTokens(context, context.num_tokens,
              [&](std::size_t token) { AddResidual(context, token, rows.projected, hidden); });
  }
  TraceShares(context, &layer, TracePoint::kFfnResidual);
}

}  // namespace bittern::model
