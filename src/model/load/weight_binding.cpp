// SPDX-License-Identifier: Apache-2.0
#include "model/load/weight_binding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "quant/blocks/dequantize.hpp"

namespace bittern::model {

Result<void> CheckLayerIsThere(const formats::Checkpoint& checkpoint, const ModelConfig& c,
                               const std::string& prefix) {
  const auto has = [&](const char* name) { return checkpoint.Find(prefix + name) != nullptr; };
  if (has("attn_q.weight") || has("attn_norm.weight")) {
    if (has("attn_q.weight") || !has("attn_qkv.weight")) return {};
    return Fail(ErrorCode::kUnsupported,
                fmt::format("{}: q, k and v in one matrix are not supported; attn_q, attn_k and "
                            "attn_v expected",
                            TensorPrefix(prefix + "attn_qkv.weight")));
  }
  return Fail(ErrorCode::kCorruptFile,
              fmt::format("{} and others of its layer are missing; {}.block_count is {}",
                          TensorPrefix(prefix + "attn_norm.weight"), c.architecture, c.num_layers),
              fmt::format("if that is wrong, override_kv={}.block_count=int:N corrects it",
                          c.architecture));
}

Result<std::vector<float>> BindNorm(TensorBinder& binder, const std::string& name,
                                    std::size_t size) {
  constexpr float kMost = 0x1p100f;
  auto weights = BITTERN_TRY(binder.Vector(name, size));
  const auto large = std::ranges::find_if(weights, [](float w) { return std::fabs(w) > kMost; });
  if (large == weights.end()) return weights;
  return Fail(ErrorCode::kCorruptFile,
              fmt::format("{}: element {} is {}, expected at most 2^100 ({:.1e}) in magnitude",
                          TensorPrefix(name), large - weights.begin(), *large, kMost));
}

Result<void> BindNorms(TensorBinder& binder, const ModelConfig& c, const std::string& prefix,
                       LayerWeights* layer) {
  const auto hidden = static_cast<std::size_t>(c.hidden_size);
  layer->attn_norm = BITTERN_TRY(BindNorm(binder, prefix + "attn_norm.weight", hidden));
  layer->ffn_norm = BITTERN_TRY(BindNorm(binder, prefix + "ffn_norm.weight", hidden));
  if (c.traits->sub_norms) {
    layer->attn_sub_norm = BITTERN_TRY(
        BindNorm(binder, prefix + "attn_sub_norm.weight", static_cast<std::size_t>(c.q_size())));
    layer->ffn_sub_norm = BITTERN_TRY(BindNorm(binder, prefix + "ffn_sub_norm.weight",
                                               static_cast<std::size_t>(c.intermediate_size)));
  }
  if (c.traits->head_norms) {
    const auto head = static_cast<std::size_t>(c.head_dim);
    layer->q_norm = BITTERN_TRY(BindNorm(binder, prefix + "attn_q_norm.weight", head));
    layer->k_norm = BITTERN_TRY(BindNorm(binder, prefix + "attn_k_norm.weight", head));
  }
  return {};
}

Result<DenseMatrix> BindDense(TensorBinder& binder, const std::string& name, const ModelConfig& c) {
  const formats::Tensor* tensor = BITTERN_TRY(binder.Matrix(
      name, static_cast<std::size_t>(c.vocab_size), static_cast<std::size_t>(c.hidden_size)));
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
