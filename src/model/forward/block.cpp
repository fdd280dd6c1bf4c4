// SPDX-License-Identifier: Apache-2.0
// One layer, step by step (h is the residual stream):
//
//   a = attention(q, k, v of norm(h));   h += post_norm(o_proj(sub_norm(a)))
//   h += feed_forward(norm(h))           (feed_forward.hpp)
//
// Networks without sub-norms (architecture.hpp) quantise a as it is; those without post-norms add
// o_proj's output as it is. Where each projection norms its input, q, k and v read three rows
// (ProjectParts). A delta layer has a recurrent state in place of attention (delta.hpp).
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

/// q, k and v, or what a delta layer has in their place, from their input.
void ProjectQkv(const Context& context, const LayerWeights& layer, const QuantizedRows& in) {
  const ForwardState::Impl& rows = context.state;
  if (layer.qkv_parts.empty()) {
    Linear(context, in, layer.qkv_proj, rows.qkv);
  } else {
    const std::vector<float>* const norms[] = {&layer.q_input_norm, &layer.k_input_norm,
                                               &layer.v_input_norm};
    ProjectParts(context,
                 {rows.hidden, layer.attn_norm, norms, layer.qkv_parts, layer.qkv_proj,
                  QkvInput(layer, context.IndexOf(layer))},
                 in, rows.qkv);
  }
  TraceShares(context, &layer, TracePoint::kQkvProj);
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
    const float* normed = NormAndQuantize(context, token, rows.hidden, layer.attn_norm, place,
                                          qkv_input, layer.q_input_norm);
    if (layer.is_delta()) ComputeDeltaGates(context, token, layer, normed);
  });
  ProjectQkv(context, layer, qkv_input);
  const auto mix = layer.is_delta() ? RunDelta : Attend;
  mix(context, layer, rows.qkv, rows.attended);
  StepOfTokens(context, layer, {TracePoint::kAttnSubNorm}, [&](std::size_t token) {
    NormAndQuantize(context, token, rows.attended, layer.attn_sub_norm, OInput(layer, index),
                    o_input);
  });
  Project(context, layer, TracePoint::kOProj, o_input, layer.o_proj, rows.projected);
  StepOfTokens(context, layer, {TracePoint::kAttnResidual, TracePoint::kFfnNorm},
               [&](std::size_t token) {
                 AddNormed(context, token, rows.projected, layer.attn_post_norm,
                           {index, TracePoint::kOProj}, rows.hidden);
                 NormForFeedForward(context, token, layer, rows.hidden, ffn_input);
               });
  AddFeedForward(context, layer, ffn_input, rows.hidden);
}

}  // namespace bittern::model
