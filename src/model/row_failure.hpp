// SPDX-License-Identifier: Apache-2.0
// The record of a token whose activations are not finite numbers. It goes on through the network as
// zeros, which touch no other token; the caller of the pass asks afterwards. Contract:
// docs/design/0007-not-finite.md.
#pragma once

#include <cstdint>

#include "base/result.hpp"

namespace bittern::model {

enum class TracePoint : std::uint8_t;  // trace_point.hpp

/// The first values of a token that are not finite, or would not be.
struct RowFailure {
  int layer = -1;      ///< -1: outside the layers
  TracePoint point{};  ///< kEmbedding
  bool operator==(const RowFailure&) const = default;
};

/// Error kInternal, naming position, layer and operation.
[[nodiscard]] Error NotFiniteError(const RowFailure& failure, int position);

}  // namespace bittern::model
