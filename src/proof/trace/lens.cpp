// SPDX-License-Identifier: Apache-2.0
// One thread: the head is read once for each layer and position.
#include "proof/trace/lens.hpp"

#include "kernels/registry.hpp"
#include "model/weights.hpp"
#include "quant/blocks/dequantize.hpp"
#include "runtime/sampling/sampler_steps.hpp"

namespace bittern::proof {
namespace {

/// Logits of one row of the residual stream; all zero where it is not finite.
std::vector<float> LogitsOf(const runtime::LoadedModel& model, const std::vector<float>& stream) {
  const model::Weights& weights = model.model.weights();
  const kernels::FloatOps& ops = weights.kernels->float32();
  const model::DenseMatrix& head = weights.lm_head;
  std::vector<float> normed(stream.size()), row(stream.size()), logits(head.rows);
  static_cast<void>(ops.rms_norm(stream.data(), weights.final_norm.data(), stream.size(),
                                 stream.size(), model.model.config().rms_norm_eps, normed.data()));
  const auto dequantize = quant::DequantizeRowFor(head.format);
  for (std::size_t r = 0; r < head.rows; ++r) {
    dequantize(head.row(r), head.cols, row.data());
    ops.dot_f32(row.data(), 1, head.cols, normed.data(), &logits[r]);
  }
  return logits;
}

}  // namespace

Result<std::vector<std::vector<LensRow>>> LogitLens(const runtime::LoadedModel& model,
                                                    const Trace& trace, int count) {
  std::vector<std::vector<LensRow>> lens;
  const auto hidden = static_cast<std::size_t>(model.model.config().hidden_size);
  for (int layer = -1; layer < trace.num_layers; ++layer) {
    const std::size_t step =
        layer < 0 ? 0 : StepOf(layer, Operation::kFfnResidual, trace.num_layers);
    auto& rows = lens.emplace_back();
    for (std::size_t p = 0; p < trace.tokens.size(); ++p) {
      const std::vector<float>& values = trace.at(step, p).values;
      if (values.size() != hidden || trace.num_layers != model.model.config().num_layers) {
        return Fail(ErrorCode::kInvalidArgument,
                    "the trace holds no values of this model's residual stream");
      }
      const auto logits = LogitsOf(model, values);
      rows.push_back(runtime::LogprobsOf(logits, runtime::Argmax(logits), count).top);
    }
  }
  return lens;
}

}  // namespace bittern::proof
