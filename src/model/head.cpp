// SPDX-License-Identifier: Apache-2.0
#include "model/head.hpp"

#include <algorithm>

#include "model/for_tokens.hpp"
#include "model/linear.hpp"
#include "quant/dequantize.hpp"

namespace bittern::model {
namespace {

using quant::WeightFormat;

constexpr std::size_t kRowsAtOnce = 64;  // of the head: they stay in cache for all tokens

}  // namespace

void EmbedTokens(const Context& context, std::span<const std::int32_t> tokens) {
  const DenseMatrix& embedding = context.weights.embedding;
  const auto dequantize = quant::DequantizeRowFor(embedding.format);
  const Range range = context.team.Share(tokens.size());
  for (std::size_t token = range.begin; token < range.end; ++token) {
    dequantize(embedding.row(static_cast<std::size_t>(tokens[token])), embedding.cols,
               context.state.hidden.data() + token * embedding.cols);
  }
}

void DotRows(const Context& context, const DenseMatrix& matrix, std::size_t first,
             std::size_t count, const float* x, float* out) {
  const kernels::FloatOps& ops = context.floats();
  const std::byte* rows = matrix.row(first);
  switch (matrix.format) {
    case WeightFormat::kF32:
      return ops.dot_f32(reinterpret_cast<const float*>(rows), count, matrix.cols, x, out);
    case WeightFormat::kF16:
      return ops.dot_f16(reinterpret_cast<const std::uint16_t*>(rows), count, matrix.cols, x, out);
    case WeightFormat::kBF16:
      return ops.dot_bf16(reinterpret_cast<const std::uint16_t*>(rows), count, matrix.cols, x, out);
    default:
      break;
  }
  const auto dequantize = quant::DequantizeRowFor(matrix.format);
  float* row = context.scratch().dense_row.data();
  for (std::size_t r = 0; r < count; ++r) {
    dequantize(matrix.row(first + r), matrix.cols, row);
    ops.dot_f32(row, 1, matrix.cols, x, out + r);
  }
}

void NormForHead(const Context& context, std::size_t first_token, std::size_t count) {
  const std::vector<float>& norm = context.weights.final_norm;
  ForTokens(context, count, [&](std::size_t i) {
    const float* hidden = context.state.hidden.data() + (first_token + i) * norm.size();
    float* normed = context.state.normed.data() + i * norm.size();
    if (!context.floats().rms_norm(hidden, norm.data(), norm.size(), norm.size(),
                                   context.config.rms_norm_eps, normed)) {
      RecordFailure(context, first_token + i,
                    {context.config.num_layers - 1, TracePoint::kFfnResidual});
    }
    if (context.state.failures[first_token + i]) std::fill_n(normed, norm.size(), 0.0f);
  });
}

void ComputeLogits(const Context& context, std::size_t first_token, std::size_t count,
                   float* logits) {
  const DenseMatrix& head = context.weights.lm_head;
  NormForHead(context, first_token, count);
  const float* normed = context.state.normed.data();
  const Range rows = context.team.Share(head.rows);
  for (std::size_t row = rows.begin; row < rows.end; row += kRowsAtOnce) {
    const std::size_t at_once = std::min(kRowsAtOnce, rows.end - row);
    for (std::size_t i = 0; i < count; ++i) {
      DotRows(context, head, row, at_once, normed + i * head.cols, logits + i * head.rows + row);
    }
  }
  context.team.Barrier();
}

}  // namespace bittern::model
