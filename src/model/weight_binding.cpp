// SPDX-License-Identifier: Apache-2.0
#include "model/weight_binding.hpp"

#include <fmt/format.h>

#include <cstdint>

#include "quant/dequantize.hpp"

namespace bittern::model {

Result<void> BindNorms(TensorBinder& binder, const ModelConfig& c, const std::string& prefix,
                       LayerWeights* layer) {
  const auto hidden = static_cast<std::size_t>(c.hidden_size);
  layer->attn_norm = BITTERN_TRY(binder.Vector(prefix + "attn_norm.weight", hidden));
  layer->ffn_norm = BITTERN_TRY(binder.Vector(prefix + "ffn_norm.weight", hidden));
  if (c.traits->sub_norms) {
    layer->attn_sub_norm = BITTERN_TRY(
        binder.Vector(prefix + "attn_sub_norm.weight", static_cast<std::size_t>(c.q_size())));
    layer->ffn_sub_norm = BITTERN_TRY(binder.Vector(prefix + "ffn_sub_norm.weight",
                                                    static_cast<std::size_t>(c.intermediate_size)));
  }
  if (c.traits->head_norms) {
    const auto head = static_cast<std::size_t>(c.head_dim);
    layer->q_norm = BITTERN_TRY(binder.Vector(prefix + "attn_q_norm.weight", head));
    layer->k_norm = BITTERN_TRY(binder.Vector(prefix + "attn_k_norm.weight", head));
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
  const std::size_t element = tensor->format == quant::WeightFormat::kF32 ? 4 : 2;
  if (reinterpret_cast<std::uintptr_t>(tensor->bytes.data()) % element != 0) {
    return Fail(ErrorCode::kUnsupported,
                fmt::format("{}: data at file offset {} is not aligned to {} bytes",
                            TensorPrefix(name), tensor->file_offset, element));
  }
  DenseMatrix matrix;
  matrix.format = tensor->format;
  matrix.rows = tensor->rows();
  matrix.cols = tensor->row_elements();
  matrix.row_bytes = tensor->bytes.size() / matrix.rows;
  matrix.data = tensor->bytes.data();
  return matrix;
}

Result<void> ReportUnused(const TensorBinder& binder, Decisions* decisions) {
  for (const std::string& name : binder.Unused()) {
    if (name.ends_with(".bias") || name.find("_norm_in.") != std::string::npos ||
        name.find("attn_q_norm") != std::string::npos ||
        name.find("attn_k_norm") != std::string::npos) {
      return Fail(ErrorCode::kUnsupported,
                  TensorPrefix(name) + " is part of a network that is not supported");
    }
    decisions->push_back({"tensor " + name, "ignored", "not part of this architecture", true});
  }
  return {};
}

}  // namespace bittern::model
