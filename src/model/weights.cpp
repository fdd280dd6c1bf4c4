// SPDX-License-Identifier: Apache-2.0
#include "model/weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <initializer_list>

#include "base/portable_math.hpp"
#include "model/repack.hpp"
#include "model/tensor_binder.hpp"
#include "quant/dequantize.hpp"

namespace bittern::model {
namespace {

/// A ternary projection by the name of its tensor: "blk.3.attn_q" has ".weight" and, in files of
/// architecture bitnet, sometimes a one-element ".scale".
struct Projection {
  std::string name;
  int rows;
};

Result<float> SeparateScale(TensorBinder& binder, const std::string& name) {
  if (binder.checkpoint().Find(name) == nullptr) return 1.0f;
  return BITTERN_TRY(binder.Vector(name, 1))[0];
}

Result<TernaryMatrix> LoadStack(TensorBinder& binder, std::initializer_list<Projection> projections,
                                int cols, ThreadPool& pool) {
  std::vector<const formats::Tensor*> tensors;
  std::vector<float> scales;
  for (const Projection& projection : projections) {
    tensors.push_back(BITTERN_TRY(binder.Matrix(projection.name + ".weight",
                                                static_cast<std::size_t>(projection.rows),
                                                static_cast<std::size_t>(cols))));
    scales.push_back(BITTERN_TRY(SeparateScale(binder, projection.name + ".scale")));
  }
  auto matrix = BITTERN_TRY(StackTernary(tensors, scales, pool));
  for (const formats::Tensor* tensor : tensors) binder.checkpoint().Release(*tensor);
  return matrix;
}

Result<LayerWeights> LoadLayer(TensorBinder& binder, const ModelConfig& c, int index,
                               ThreadPool& pool) {
  const std::string prefix = fmt::format("blk.{}.", index);
  const auto hidden = static_cast<std::size_t>(c.hidden_size);
  LayerWeights layer;
  layer.attn_norm = BITTERN_TRY(binder.Vector(prefix + "attn_norm.weight", hidden));
  layer.attn_sub_norm = BITTERN_TRY(
      binder.Vector(prefix + "attn_sub_norm.weight", static_cast<std::size_t>(c.q_size())));
  layer.ffn_norm = BITTERN_TRY(binder.Vector(prefix + "ffn_norm.weight", hidden));
  layer.ffn_sub_norm = BITTERN_TRY(
      binder.Vector(prefix + "ffn_sub_norm.weight", static_cast<std::size_t>(c.intermediate_size)));
  layer.qkv_proj = BITTERN_TRY(LoadStack(binder,
                                         {{prefix + "attn_q", c.q_size()},
                                          {prefix + "attn_k", c.kv_size()},
                                          {prefix + "attn_v", c.kv_size()}},
                                         c.hidden_size, pool));
  layer.o_proj =
      BITTERN_TRY(LoadStack(binder, {{prefix + "attn_output", c.hidden_size}}, c.q_size(), pool));
  layer.gate_up_proj = BITTERN_TRY(LoadStack(
      binder,
      {{prefix + "ffn_gate", c.intermediate_size}, {prefix + "ffn_up", c.intermediate_size}},
      c.hidden_size, pool));
  layer.down_proj = BITTERN_TRY(
      LoadStack(binder, {{prefix + "ffn_down", c.hidden_size}}, c.intermediate_size, pool));
  return layer;
}

Result<DenseMatrix> LoadDense(TensorBinder& binder, const std::string& name, const ModelConfig& c) {
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

/// Copies a matrix into huge pages, letting each mapped chunk go once it is copied, so that the
/// rows are never resident twice.
Result<void> MoveToMemory(const formats::Checkpoint& checkpoint, ThreadPool& pool,
                          DenseMatrix* matrix) {
  constexpr std::size_t kChunk = std::size_t{8} << 20;
  const std::size_t bytes = matrix->rows * matrix->row_bytes;
  matrix->copy = BITTERN_TRY(AlignedBuffer<std::byte>::Create(bytes, "the output head"));
  const std::byte* source = matrix->data;
  std::byte* target = matrix->copy.data();
  pool.Run([&](Team& team) {
    const Range chunks = team.Share((bytes + kChunk - 1) / kChunk);
    for (std::size_t i = chunks.begin; i < chunks.end; ++i) {
      const std::size_t size = std::min(kChunk, bytes - i * kChunk);
      std::memcpy(target + i * kChunk, source + i * kChunk, size);
      checkpoint.Release({source + i * kChunk, size});
    }
  });
  matrix->data = target;
  return {};
}

/// theta^(-2 i / head_dim), divided by rope_freqs.weight where the file has it (llama 3.1's way
/// of stretching the context).
Result<std::vector<double>> RopeFrequencies(TensorBinder& binder, const ModelConfig& c) {
  const auto half = static_cast<std::size_t>(c.head_dim / 2);
  std::vector<double> frequencies(half);
  const double log_theta = Log(c.rope_theta);
  for (std::size_t i = 0; i < half; ++i) {
    frequencies[i] = Exp(-log_theta * static_cast<double>(2 * i) / c.head_dim);
  }
  if (binder.checkpoint().Find("rope_freqs.weight") != nullptr) {
    const auto divisors = BITTERN_TRY(binder.Vector("rope_freqs.weight", half));
    for (std::size_t i = 0; i < half; ++i) {
      if (divisors[i] < 1) {
        return Fail(
            ErrorCode::kCorruptFile,
            fmt::format("tensor \"rope_freqs.weight\": element {} is {}, expected 1 or more", i,
                        divisors[i]));
      }
      frequencies[i] /= static_cast<double>(divisors[i]);
    }
  }
  return frequencies;
}

/// Tensors that would change the result if ignored are refused; others are reported.
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

}  // namespace

Result<Weights> Weights::Load(const formats::Checkpoint& checkpoint, const ModelConfig& c,
                              ThreadPool& pool, Decisions* decisions,
                              const std::function<void(double)>& on_progress) {
  TensorBinder binder(checkpoint);
  Weights weights;
  weights.kernels = BITTERN_TRY(kernels::SelectKernelsFromEnvironment());
  weights.embedding = BITTERN_TRY(LoadDense(binder, "token_embd.weight", c));
  weights.final_norm =
      BITTERN_TRY(binder.Vector("output_norm.weight", static_cast<std::size_t>(c.hidden_size)));
  const bool tied = checkpoint.Find("output.weight") == nullptr;
  weights.lm_head = BITTERN_TRY(LoadDense(binder, tied ? "token_embd.weight" : "output.weight", c));
  BITTERN_TRY(MoveToMemory(checkpoint, pool, &weights.lm_head));
  decisions->push_back({"output head", tied ? "token_embd.weight" : "output.weight",
                        tied ? "the file has no output.weight" : "in the file", false});
  weights.inv_freq = BITTERN_TRY(RopeFrequencies(binder, c));
  for (int i = 0; i < c.num_layers; ++i) {
    weights.layers.push_back(BITTERN_TRY(LoadLayer(binder, c, i, pool)));
    if (on_progress) on_progress(static_cast<double>(i + 2) / (c.num_layers + 1));
  }
  BITTERN_TRY(ReportUnused(binder, decisions));
  return weights;
}

}  // namespace bittern::model
