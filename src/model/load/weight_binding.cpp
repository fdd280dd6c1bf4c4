// SPDX-License-Identifier: Apache-2.0
// Names and shapes come from the table of tensors (formats/network_tensors.def); the members of
// LayerWeights that norms go to stand here.
#include "model/load/weight_binding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "formats/ternary_source.hpp"
#include "quant/blocks/dequantize.hpp"

namespace bittern::model {

using formats::TensorId;
using formats::TensorName;

namespace {

/// The norms of a layer and the members that they go to.
constexpr struct {
  TensorId id;
  std::vector<float> LayerWeights::* norm;
} kNorms[] = {{TensorId::kAttnNorm, &LayerWeights::attn_norm},
              {TensorId::kFfnNorm, &LayerWeights::ffn_norm},
              {TensorId::kAttnSubNorm, &LayerWeights::attn_sub_norm},
              {TensorId::kFfnSubNorm, &LayerWeights::ffn_sub_norm},
              {TensorId::kAttnQNorm, &LayerWeights::q_norm},
              {TensorId::kAttnKNorm, &LayerWeights::k_norm},
              {TensorId::kSsmNorm, &LayerWeights::delta_norm},
              {TensorId::kAttnQNormIn, &LayerWeights::q_input_norm},
              {TensorId::kAttnKNormIn, &LayerWeights::k_input_norm},
              {TensorId::kAttnVNormIn, &LayerWeights::v_input_norm},
              {TensorId::kAttnOutputNormIn, &LayerWeights::attn_sub_norm},
              {TensorId::kFfnGateNormIn, &LayerWeights::gate_input_norm},
              {TensorId::kFfnUpNormIn, &LayerWeights::up_input_norm},
              {TensorId::kFfnDownNormIn, &LayerWeights::ffn_sub_norm},
              {TensorId::kPostFfwNorm, &LayerWeights::ffn_post_norm}};

}  // namespace

/// Sums stay in 64 bits until the end: a configuration was checked, but its products are formed
/// here.
std::size_t SizeOf(const ModelConfig& c, formats::TensorSize size) noexcept {
  const auto value = [&]() -> std::int64_t {
    switch (size) {
      case formats::TensorSize::kHidden:
        return c.hidden_size;
      case formats::TensorSize::kInner:
        return c.intermediate_size;
      case formats::TensorSize::kQ:
        return c.q_size();
      case formats::TensorSize::kQRows:
        return c.traits->delta_layers ? 2 * c.q_size() : c.q_size();
      case formats::TensorSize::kMix:
        return c.delta.mix_size();
      case formats::TensorSize::kDeltaValue:
        return c.delta.value_size();
      case formats::TensorSize::kDeltaHeads:
        return c.delta.value_heads;
      case formats::TensorSize::kDeltaHead:
        return c.delta.head_dim;
      case formats::TensorSize::kTaps:
        return c.delta.taps;
      case formats::TensorSize::kKv:
        return c.kv_size();
      case formats::TensorSize::kHead:
        return c.head_dim;
      case formats::TensorSize::kVocab:
        return c.vocab_size;
      case formats::TensorSize::kExperts:
        return c.experts.count;
      case formats::TensorSize::kExpertInner:
        return c.experts.neurons;
      case formats::TensorSize::kExpertsInner:
        return std::int64_t{c.experts.count} * c.experts.neurons;
      case formats::TensorSize::kExpertsHidden:
        return std::int64_t{c.experts.count} * c.hidden_size;
      case formats::TensorSize::kOne:
        break;
    }
    return 1;
  };
  return static_cast<std::size_t>(value());
}

/// Three questions: does the architecture have it, does this kind of layer, and has the file the
/// norms of BitNet's embedding models, which its keys alone do not tell.
bool HasTensor(const ModelConfig& c, const formats::TensorSpec& spec, int layer) noexcept {
  if (spec.presence == formats::TensorPresence::kInputNorms && !c.input_norms) return false;
  return spec.IsOf(*c.traits) && (!spec.of_layer() || spec.IsOfLayer(c.IsDelta(layer)));
}

/// The count of layers is the key that converters get wrong most often. So a layer that lacks its
/// first tensors is named together with that key, not by the tensor alone.
Result<void> CheckLayerIsThere(const formats::Checkpoint& checkpoint, const ModelConfig& c,
                               int layer) {
  const auto has = [&](const std::string& name) { return checkpoint.Find(name) != nullptr; };
  const std::string query = TensorName(TensorId::kAttnQ, layer);
  const std::string norm = TensorName(TensorId::kAttnNorm, layer);
  if (has(query) || has(norm)) {
    const std::string fused = fmt::format("blk.{}.attn_qkv.weight", layer);
    if (has(query) || !has(fused) || c.IsDelta(layer)) return {};
    return Fail(ErrorCode::kUnsupported,
                fmt::format("{}: q, k and v in one matrix are not supported; attn_q, attn_k and "
                            "attn_v expected",
                            TensorPrefix(fused)));
  }
  return Fail(ErrorCode::kCorruptFile,
              fmt::format("{} and others of its layer are missing; {}.block_count is {}",
                          TensorPrefix(norm), c.architecture, c.num_layers),
              fmt::format("if that is wrong, override_kv={}.block_count=int:N corrects it",
                          c.architecture));
}

Result<std::vector<float>> BindNorm(TensorBinder& binder, const ModelConfig& c, TensorId id,
                                    int layer) {
  const std::string name = TensorName(id, layer);
  // A norm's product with a normed value must stay finite; no trained model comes near.
  constexpr float kMost = 0x1p100f;
  auto weights = BITTERN_TRY(binder.Vector(name, SizeOf(c, formats::SpecOf(id).cols)));
  const auto large = std::ranges::find_if(weights, [](float w) { return std::fabs(w) > kMost; });
  if (large == weights.end()) return weights;
  return Fail(ErrorCode::kCorruptFile,
              fmt::format("{}: element {} is {}, expected at most 2^100 ({:.1e}) in magnitude",
                          TensorPrefix(name), large - weights.begin(), *large, kMost));
}

/// The scale of the tensor, where it lies in one of its own, counts as used: what no binding has
/// asked for is told as unknown at the end. Experts are stacked behind each other in a third
/// dimension, which Matrix has joined with the rows.
Result<const formats::Tensor*> BindTernary(TensorBinder& binder, const ModelConfig& c, TensorId id,
                                           int layer) {
  const formats::TensorSpec& spec = formats::SpecOf(id);
  const std::string name = TensorName(id, layer);
  const std::size_t rows = SizeOf(c, spec.rows);
  const formats::Tensor* tensor = BITTERN_TRY(binder.Matrix(name, rows, SizeOf(c, spec.cols)));
  static_cast<void>(binder.Find(formats::TernaryOpener::ScaleTensorName(name)));
  if (spec.presence != formats::TensorPresence::kMixture) return tensor;
  const auto experts = static_cast<std::size_t>(c.experts.count);
  if (tensor->shape[1] == rows / experts && tensor->shape[2] == experts) return tensor;
  return Fail(ErrorCode::kCorruptFile,
              fmt::format("{}: expected {} experts of {} rows, found {} of {}", TensorPrefix(name),
                          experts, rows / experts, tensor->shape[2], tensor->shape[1]));
}

/// Small matrices that are read as floats at every token (routers, gates of delta layers) are
/// widened once.
Result<std::vector<float>> BindFloats(TensorBinder& binder, const ModelConfig& c, TensorId id,
                                      int layer) {
  const formats::TensorSpec& spec = formats::SpecOf(id);
  const std::string name = TensorName(id, layer);
  const std::size_t rows = SizeOf(c, spec.rows), cols = SizeOf(c, spec.cols);
  const formats::Tensor* tensor = BITTERN_TRY(binder.Matrix(name, rows, cols));
  const auto dequantize = quant::DequantizeRowFor(tensor->format);
  if (dequantize == nullptr) {
    return Fail(ErrorCode::kUnsupported,
                fmt::format("{}: expected numbers of any format but ternary ones, found {}",
                            TensorPrefix(name), quant::InfoOf(tensor->format).name));
  }
  std::vector<float> values(rows * cols);
  const std::size_t row_bytes = tensor->bytes.size() / rows;
  for (std::size_t row = 0; row < rows; ++row) {
    dequantize(tensor->bytes.data() + row * row_bytes, cols, values.data() + row * cols);
  }
  const auto bad = std::ranges::find_if(values, [](float v) { return !std::isfinite(v); });
  if (bad == values.end()) return values;
  return Fail(ErrorCode::kCorruptFile, fmt::format("{}: element {} is {}, expected a finite number",
                                                   TensorPrefix(name), bad - values.begin(), *bad));
}

Result<void> BindNorms(TensorBinder& binder, const ModelConfig& c, int layer,
                       LayerWeights* weights) {
  for (const auto& [id, norm] : kNorms) {
    if (!HasTensor(c, formats::SpecOf(id), layer)) continue;
    weights->*norm = BITTERN_TRY(BindNorm(binder, c, id, layer));
  }
  if (!HasTensor(c, formats::SpecOf(TensorId::kPostNorm), layer)) return {};
  // qwen35 calls the norm before its feed-forward part `post_attention_norm`; Gemma calls so the
  // one behind the attention's output.
  auto& norm = c.traits->post_norms ? weights->attn_post_norm : weights->ffn_norm;
  norm = BITTERN_TRY(BindNorm(binder, c, TensorId::kPostNorm, layer));
  return {};
}

/// A file without a head uses the embedding for it, whatever its keys say.
TensorId HeadTensor(const formats::Checkpoint& checkpoint) {
  return checkpoint.Find(TensorName(TensorId::kOutput)) == nullptr ? TensorId::kTokenEmbd
                                                                   : TensorId::kOutput;
}

/// Rows are read where they lie in the file, one for each token; nothing is copied.
Result<DenseMatrix> BindDense(TensorBinder& binder, TensorId id, const ModelConfig& c) {
  const std::string name = TensorName(id);
  const formats::TensorSpec& spec = formats::SpecOf(id);
  const formats::Tensor* tensor =
      BITTERN_TRY(binder.Matrix(name, SizeOf(c, spec.rows), SizeOf(c, spec.cols)));
  if (quant::DequantizeRowFor(tensor->format) == nullptr) {
    return Fail(ErrorCode::kUnsupported,
                fmt::format("{}: {} is not supported for embeddings", TensorPrefix(name),
                            quant::InfoOf(tensor->format).name));
  }
  DenseMatrix matrix;
  matrix.format = tensor->format;
  matrix.rows = tensor->rows();
  matrix.cols = tensor->row_elements();
  matrix.row_bytes = tensor->bytes.size() / matrix.rows;
  matrix.data = tensor->bytes.data();
  return matrix;
}

}  // namespace bittern::model
