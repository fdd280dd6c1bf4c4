// SPDX-License-Identifier: Apache-2.0
// The words of a model that ends after each layer: the residual stream through the last norm and
// the head.
#pragma once

#include <vector>

#include "base/result.hpp"
#include "proof/trace/trace.hpp"
#include "runtime/sampling/logprobs.hpp"

namespace bittern::proof {

/// The likeliest tokens, best first.
using LensRow = std::vector<runtime::TokenLogprob>;

/// [layer][position], layer 0 being the embedding, layer i the stream after i layers. The trace
/// keeps values. Error kInvalidArgument: it does not, or is of another model.
[[nodiscard]] Result<std::vector<std::vector<LensRow>>> LogitLens(const runtime::LoadedModel& model,
                                                                  const Trace& trace, int count);

}  // namespace bittern::proof
