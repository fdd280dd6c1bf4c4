// SPDX-License-Identifier: Apache-2.0
// The calls by which the forward pass lets a tracer look. Each follows the barrier that ends its
// step, and ends with one of its own, so that no thread overwrites what is being read.
#pragma once

#include "model/forward/context.hpp"
#include "model/trace.hpp"

namespace bittern::model {

namespace internal {
void RecordStep(const Context& context, const LayerWeights* layer, TracePoint point);
void RecordLogits(const Context& context, std::span<const HeadRow> rows);
}  // namespace internal

/// Shows what `point` of the layer (none for kEmbedding) has just computed. On all threads.
inline void TraceStep(const Context& context, const LayerWeights* layer, TracePoint point) {
  if (context.state.tracer != nullptr) internal::RecordStep(context, layer, point);
}

/// The same after a step that ends without a barrier: waits for the others' shares first.
inline void TraceShares(const Context& context, const LayerWeights* layer, TracePoint point) {
  if (context.state.tracer == nullptr) return;
  context.team.Barrier();
  internal::RecordStep(context, layer, point);
}

/// Shows the final norm of some rows, and their logits where all were computed, after the head. On
/// all threads.
inline void TraceLogits(const Context& context, std::span<const HeadRow> rows) {
  if (context.state.tracer != nullptr) internal::RecordLogits(context, rows);
}

}  // namespace bittern::model
