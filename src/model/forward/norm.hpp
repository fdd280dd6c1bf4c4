// SPDX-License-Identifier: Apache-2.0
// Norms of single tokens, which end in what a projection reads.
#pragma once

#include <span>
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
/// Returns the normed row, as Norm does. What is quantised is normed a second time where the
/// projection has a norm of its own (`again` is not empty).
const float* NormAndQuantize(const Context& context, std::size_t token, FloatRows input,
                             const std::vector<float>& weight, const ProjectionInput& place,
                             const QuantizedRows& out, const std::vector<float>& again = {});

/// Projections of one normed input, each of which norms it again.
struct NormedParts {
  FloatRows input;
  const std::vector<float>& norm;
  std::span<const std::vector<float>* const> norms;  ///< one a part
  std::span<const TernaryMatrix> matrices;
  const TernaryMatrix& stack;  ///< of which they are the parts
  ProjectionInput place;
};

/// The output of all parts, side by side as the stack's. `in` has the first part's input, and then
/// the others'. On all threads; barriers inside, none at the end.
void ProjectParts(const Context& context, const NormedParts& of, const QuantizedRows& in,
                  FloatRows out);

/// A token's row of the residual stream += norm(its row of a projection's output), without `weight`
/// the row as it is, scaled where the network has a factor for that.
void AddNormed(const Context& context, std::size_t token, FloatRows projected,
               const std::vector<float>& weight, const RowFailure& from, FloatRows hidden);

}  // namespace bittern::model
