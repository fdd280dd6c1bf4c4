// SPDX-License-Identifier: Apache-2.0
#include "model/forward/norm.hpp"

#include "kernels/kernel.h"

namespace bittern::model {

const float* Norm(const Context& context, std::size_t token, const float* input,
                  const std::vector<float>& weight, std::size_t size, std::size_t all,
                  const RowFailure& from) {
  if (weight.empty()) return input;
  float* normed = context.state.tracer == nullptr ? context.scratch().normed.data()
                                                  : context.state.normed.row(token);
  if (!context.floats().rms_norm(input, weight.data(), size, all, context.config.rms_norm_eps,
                                 normed)) {
    RecordFailure(context, token, from);
  }
  return normed;
}

const float* NormAndQuantize(const Context& context, std::size_t token, FloatRows input,
                             const std::vector<float>& weight, const ProjectionInput& place,
                             const QuantizedRows& out) {
  const float* normed =
      Norm(context, token, input.row(token), weight, out.cols, out.cols, place.from);
  QuantizeToken(context, token, normed, place, out);
  return normed;
}

}  // namespace bittern::model
