// SPDX-License-Identifier: Apache-2.0
// Steps of a layer that are shown to tracers when they are done, so that a layer reads as the
// network is written. On all threads.
#pragma once

#include <initializer_list>

#include "model/forward/exchange.hpp"
#include "model/forward/for_tokens.hpp"
#include "model/forward/linear.hpp"
#include "model/forward/trace_step.hpp"

namespace bittern::model {

/// step(token) of every token of the batch, shared out, between two barriers.
template <class Step>
void StepOfTokens(const Context& context, const LayerWeights& layer,
                  std::initializer_list<TracePoint> points, const Step& step) {
  ForTokens(context, context.num_tokens, step);
  for (const TracePoint point : points) TraceStep(context, &layer, point);
}

/// Linear, of which each rank computes some rows. No barrier at the end where there is one rank.
inline void Project(const Context& context, const LayerWeights& layer, TracePoint point,
                    const QuantizedRows& in, const TernaryMatrix& matrix, FloatRows out) {
  const RankCut& hidden = context.weights.shares.hidden;
  const FloatRows mine = PartHere(context, out, hidden);
  Linear(context, in, matrix, mine);
  Exchange(context, RankStep::kOutput, mine, out, hidden.parts());
  TraceShares(context, &layer, point);
}

/// row[i] *= factor, with one rounding each.
inline void Scale(float factor, float* row, std::size_t size) {
  if (factor == 1) return;
  for (std::size_t i = 0; i < size; ++i) row[i] *= factor;
}

}  // namespace bittern::model
