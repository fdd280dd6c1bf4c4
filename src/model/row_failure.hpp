// SPDX-License-Identifier: Apache-2.0
// The record of a token whose activations are not finite numbers. It goes on through the network as
// zeros, which touch no other token; the caller of the pass asks afterwards. Contract:
// docs/design/0007-not-finite.md.
#pragma once

#include "base/result.hpp"
#include "model/trace_point.hpp"

namespace bittern::model {

/// The first values of a token that are not finite, or would not be.
struct RowFailure {
  int layer = -1;  ///< -1: outside the layers
  TracePoint point = TracePoint::kEmbedding;
  bool operator==(const RowFailure&) const = default;
};

/// Error kInternal, naming position, layer and operation.
[[nodiscard]] Error NotFiniteError(const RowFailure& failure, int position);

}  // namespace bittern::model
