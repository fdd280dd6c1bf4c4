// SPDX-License-Identifier: Apache-2.0
// Binds every tensor as loading does, and notes each failure in place of stopping at the first.
#include "model/load/check_weights.hpp"

#include <fmt/format.h>

#include "formats/ternary_source.hpp"
#include "model/load/not_finite.hpp"
#include "model/load/read_rotation.hpp"
#include "model/load/rope_frequencies.hpp"
#include "model/load/tensor_binder.hpp"
#include "model/load/unused_tensors.hpp"
#include "model/load/weight_binding.hpp"
#include "quant/ternary_codec.hpp"

namespace bittern::model {
namespace {

using formats::TensorId;

constexpr std::size_t kMaxLayerFindings = 8;  // a wrong block_count can lack a thousand layers

/// A matrix of a layer: present, of the right shape, and in a format that can hold ternary weights.
Result<void> CheckMatrix(TensorBinder& binder, const ModelConfig& c,
                         const formats::TensorSpec& spec, int layer) {
  const formats::Tensor* tensor = BITTERN_TRY(BindTernary(binder, c, spec.id, layer));
  if (quant::DefaultCodec(tensor->format) != nullptr) return {};
  Decisions ignored;
  auto opener = BITTERN_TRY(formats::TernaryOpener::Create(binder.checkpoint(), &ignored));
  BITTERN_TRY(opener.Open(*tensor));  // refuses, in the words of loading
  return {};
}

/// The first thing that is wrong with a layer.
Result<void> CheckLayer(TensorBinder& binder, const ModelConfig& c, int index) {
  LayerWeights norms;
  BITTERN_TRY(CheckLayerIsThere(binder.checkpoint(), c, index));
  BITTERN_TRY(BindNorms(binder, c, index, &norms));
  for (const formats::TensorSpec& spec : formats::kNetworkTensors) {
    if (!spec.of_layer() || !HasTensor(c, spec, index)) continue;
    if (spec.ternary()) BITTERN_TRY(CheckMatrix(binder, c, spec, index));
    if (formats::IsFloats(spec.kind)) BITTERN_TRY(BindFloats(binder, c, spec.id, index));
  }
  return {};
}

class Checker {
 public:
  Checker(const formats::Checkpoint& checkpoint, const ModelConfig& config)
      : checkpoint_(checkpoint), config_(config), binder_(checkpoint) {}

  std::vector<std::string> Check(bool read_values, Decisions* decisions) {
    Note(ReadRotation(checkpoint_, config_, decisions));
    CheckDense(TensorId::kTokenEmbd, read_values);
    Note(BindNorm(binder_, config_, TensorId::kOutputNorm));
    if (HeadTensor(checkpoint_) == TensorId::kOutput) CheckDense(TensorId::kOutput, read_values);
    Note(RopeFrequencies(binder_, config_));
    CheckLayers();
    // After a fault in a layer, the tensors that follow were not asked for. They may be used.
    if (findings_.empty()) Note(ReportUnusedTensors(binder_.Unused(), config_, decisions));
    return std::move(findings_);
  }

 private:
  template <class T>
  void Note(const Result<T>& result) {
    if (!result) findings_.push_back(MessageAndHint(result.error()));
  }

  void CheckDense(TensorId id, bool read_values) {
    const auto matrix = BindDense(binder_, id, config_);
    Note(matrix);
    if (!matrix || !read_values) return;
    const auto [rows, first] = RowsNotFinite(*matrix);
    if (rows == 0) return;
    findings_.push_back(
        fmt::format("{}: {} of {} rows hold numbers that are not finite, the first is row {}; "
                    "logits will not be finite either",
                    TensorPrefix(formats::TensorName(id)), rows, matrix->rows, first));
  }

  void CheckLayers() {
    std::size_t bad = 0;
    for (int i = 0; i < config_.num_layers; ++i) {
      const auto checked = CheckLayer(binder_, config_, i);
      if (checked) continue;
      if (++bad <= kMaxLayerFindings) Note(checked);
    }
    if (bad <= kMaxLayerFindings) return;
    findings_.push_back(fmt::format("{} more layers of {} lack something or hold something wrong",
                                    bad - kMaxLayerFindings, config_.num_layers));
  }

  const formats::Checkpoint& checkpoint_;
  const ModelConfig& config_;
  TensorBinder binder_;
  std::vector<std::string> findings_;
};

}  // namespace

std::vector<std::string> CheckWeights(const formats::Checkpoint& checkpoint,
                                      const ModelConfig& config, bool read_values,
                                      Decisions* decisions) {
  return Checker(checkpoint, config).Check(read_values, decisions);
}

}  // namespace bittern::model
