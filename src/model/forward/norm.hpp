// SPDX-License-Identifier: Apache-2.0
// Norms of single tokens, which end in what a projection reads.
#pragma once

#include <vector>

#include "model/forward/context.hpp"
#include "model/forward/linear.hpp"

namespace bittern::model {

/// RMS norm of a token's `size` inputs; the mean is over `all`, the missing ones are zero. The
/// inputs themselves where the network has no weights for it. Kept for tracers. `from`: what the
/// inputs are. Valid until the thread's next norm.
const float* Norm(const Context& context, std::size_t token, const float* input,
                  const std::vector<float>& weight, std::size_t size, std::size_t all,
                  const RowFailure& from);

/// Norm and quantisation of a token's row that has all its elements, ready for a projection.
/// Returns the normed row, as Norm does.
const float* NormAndQuantize(const Context& context, std::size_t token, FloatRows input,
                             const std::vector<float>& weight, const ProjectionInput& place,
                             const QuantizedRows& out);

}  // namespace bittern::model
