// SPDX-License-Identifier: Apache-2.0
// One layer, step by step (h is the residual stream):
//
//   a = attention(q, k, v of norm(h));   h += o_proj(sub_norm(a))
//   h += feed_forward(norm(h))           (feed_forward.hpp)
//
// Networks without sub-norms (architecture.hpp) quantise a as it is. A delta layer has a recurrent
// state in place of attention (delta.hpp).
// Every projection quantises its input per token (linear.hpp); nothing else is quantised.
#include "model/forward/block.hpp"

#include "model/forward/attention.hpp"
#include "model/forward/delta.hpp"
#include "model/forward/feed_forward.hpp"
#include "model/forward/norm.hpp"
#include "model/forward/steps.hpp"

namespace bittern::model {
namespace {

/// The input of qkv_proj.
ProjectionInput QkvInput(const LayerWeights& layer, int index) {
  const RowFailure embedding, residual{index - 1, TracePoint::kFfnResidual};
  return {
      index == 0 ? embedding : residual, {index, TracePoint::kQkvProj}, layer.qkv_proj.act_limit()};
}

/// The input of o_proj.
ProjectionInput OInput(const LayerWeights& layer, int index) {
  return {{index, TracePoint::kAttention},
          {index, TracePoint::kOProj},
          layer.o_proj.act_limit(),
          layer.is_delta()};
}

}  // namespace

void RunBlock(const Context& context, int index) {
  const LayerWeights& layer = context.weights.layers[static_cast<std::size_t>(index)];
  const ForwardState::Impl& rows = context.state;
  const QuantizedRows qkv_input = context.Quantized(layer.qkv_proj.cols);
  const QuantizedRows o_input = context.Quantized(layer.o_proj.cols);
  const QuantizedRows ffn_input = context.Quantized(rows.hidden.stride);

  StepOfTokens(context, layer, {TracePoint::kAttnNorm}, [&](std::size_t token) {
    const ProjectionInput place = QkvInput(layer, index);
    const float* normed =
        NormAndQuantize(context, token, rows.hidden, layer.attn_norm, place, qkv_input);
    if (layer.is_delta()) ComputeDeltaGates(context, token, layer, normed);
  });
  Project(context, layer, TracePoint::kQkvProj, qkv_input, layer.qkv_proj, rows.qkv);
  const auto mix = layer.is_delta() ? RunDelta : Attend;
  mix(context, layer, rows.qkv, rows.attended);
  StepOfTokens(context, layer, {TracePoint::kAttnSubNorm}, [&](std::size_t token) {
    NormAndQuantize(context, token, rows.attended, layer.attn_sub_norm, OInput(layer, index),
                    o_input);
  });
  Project(context, layer, TracePoint::kOProj, o_input, layer.o_proj, rows.projected);
  StepOfTokens(context, layer, {TracePoint::kAttnResidual, TracePoint::kFfnNorm},
               [&](std::size_t token) {
                 AddResidual(context, token, rows.projected, rows.hidden);
                 NormForFeedForward(context, token, layer, rows.hidden, ffn_input);
               });
  AddFeedForward(context, layer, ffn_input, rows.hidden);
}

}  // namespace bittern::model
