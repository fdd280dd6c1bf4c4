// SPDX-License-Identifier: Apache-2.0
#include "model/forward/norm.hpp"

#include "kernels/kernel.h"
#include "model/forward/for_tokens.hpp"
#include "model/forward/steps.hpp"

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
                             const QuantizedRows& out, const std::vector<float>& again) {
  const float* normed =
      Norm(context, token, input.row(token), weight, out.cols, out.cols, place.from);
  const float* quantized = normed;
  if (!again.empty()) {
    float* twice = context.scratch().normed.data();  // the same row where nobody traces
    if (!context.floats().rms_norm(normed, again.data(), out.cols, out.cols,
                                   context.config.rms_norm_eps, twice)) {
      RecordFailure(context, token, place.from);
    }
    quantized = twice;
  }
  QuantizeToken(context, token, quantized, place, out);
  return normed;
}

void ProjectParts(const Context& context, const NormedParts& of, const QuantizedRows& in,
                  FloatRows out) {
  for (std::size_t i = 0; i < of.matrices.size(); ++i) {
    if (i > 0) {
      ForTokens(context, context.num_tokens, [&](std::size_t token) {
        NormAndQuantize(context, token, of.input, of.norm, of.place, in, *of.norms[i]);
      });
    }
    Linear(context, in, of.matrices[i], {out.data + of.stack.parts[i].first_row, out.stride});
  }
}

void AddNormed(const Context& context, std::size_t token, FloatRows projected,
               const std::vector<float>& weight, const RowFailure& from, FloatRows hidden) {
  Scale(context.config.scales.residual, projected.row(token), hidden.stride);
  const float* added =
      Norm(context, token, projected.row(token), weight, hidden.stride, hidden.stride, from);
  context.floats().add(hidden.row(token), added, hidden.stride);
}

}  // namespace bittern::model
