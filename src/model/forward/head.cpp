// SPDX-License-Identifier: Apache-2.0
// The head is read row by row in the file's format, and threads share its rows. Chosen ids cost
// one row each; all others are left alone.
#include "model/forward/head.hpp"

#include <algorithm>

#include "kernels/kernel.h"
#include "model/forward/exchange.hpp"
#include "model/forward/for_tokens.hpp"
#include "model/forward/linear.hpp"
#include "model/forward/steps.hpp"
#include "model/forward/trace_step.hpp"
#include "quant/blocks/dequantize.hpp"

namespace bittern::model {
namespace {

using quant::WeightFormat;

constexpr std::size_t kRowsAtOnce = 64;  // of the head: they stay in cache for all tokens

}  // namespace

void EmbedTokens(const Context& context) {
  const DenseMatrix& embedding = context.weights.embedding;
  const HadamardRotation& rotation = context.weights.rotation;
  const auto dequantize = quant::DequantizeRowFor(embedding.format);
  const Range range = context.team.Share(context.num_tokens);
  for (std::size_t token = range.begin; token < range.end; ++token) {
    const Segment& segment = context.segment(token);
    const std::size_t first = static_cast<std::size_t>(segment.sequence->length());
    const std::int32_t id = segment.tokens[context.position(token) - first];
    float* hidden = context.state.hidden.row(token);
    dequantize(embedding.row(static_cast<std::size_t>(id)), embedding.cols, hidden);
    if (!rotation.empty()) {
      context.floats().hadamard_inverse(hidden, rotation.WeightsOf(embedding.cols), embedding.cols,
                                        rotation.block, hidden);
    }
    Scale(context.config.scales.embedding, hidden, embedding.cols);
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

namespace {

/// The final norm of a token; zeros where one of its values was not finite.
void FinalNorm(const Context& context, std::size_t token, float* normed) {
  const std::vector<float>& norm = context.weights.final_norm;
  if (!context.floats().rms_norm(context.state.hidden.row(token), norm.data(), norm.size(),
                                 norm.size(), context.config.rms_norm_eps, normed)) {
    RecordFailure(context, token, {context.config.num_layers - 1, TracePoint::kFfnResidual});
  }
  if (context.state.failures[token]) std::fill_n(normed, norm.size(), 0.0f);
}

/// The final norms of segments that want nothing else. The norm's weights are over the divisor of
/// the logits, which is no part of it.
void GiveHidden(const Context& context, std::span<const HeadRow> wanted) {
  const std::size_t size = context.weights.final_norm.size();
  ForTokens(context, wanted.size(), [&](std::size_t i) {
    float* hidden = wanted[i].segment->hidden.data() + wanted[i].index * size;
    FinalNorm(context, wanted[i].token, hidden);
    Scale(context.config.scales.logits, hidden, size);
  });
}

/// The input of the head: row i = norm(hidden[rows[i].token]), rotated where the head is.
FloatRows NormForHead(const Context& context, std::span<const HeadRow> rows) {
  const std::vector<float>& norm = context.weights.final_norm;
  ForTokens(context, rows.size(), [&](std::size_t i) {
    float* normed = context.state.normed.row(i);
    FinalNorm(context, rows[i].token, normed);
    const float* input = RotateInput(context, normed, norm.size(), false);
    if (input != normed) std::copy_n(input, norm.size(), normed);
  });
  return context.state.normed;
}

/// Room for the logits that this rank computes, where the network is shared out: `count` floats.
/// null: they go to the segments.
float* LogitsHere(const Context& context, std::size_t count) {
  if (!context.weights.shares.shared()) return nullptr;
  std::vector<float>& logits = context.state.exchanged.logits;
  context.team.BarrierThen([&] { logits.resize(std::max(logits.size(), count)); });
  return logits.data();
}

/// The whole head, shared out by its rows, of which some stay in cache for all tokens.
void ScanHead(const Context& context, std::span<const HeadRow> wanted, FloatRows normed) {
  const DenseMatrix& head = context.weights.lm_head;
  const Range rows = context.team.Share(head.rows);
  float* mine = LogitsHere(context, wanted.size() * head.rows);
  for (std::size_t row = rows.begin; row < rows.end; row += kRowsAtOnce) {
    const std::size_t at_once = std::min(kRowsAtOnce, rows.end - row);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      float* logits = mine == nullptr
                          ? wanted[i].segment->logits.data() + wanted[i].index * head.rows
                          : mine + i * head.rows;
      DotRows(context, head, row, at_once, normed.row(i), logits + row);
    }
  }
  if (mine != nullptr) return CollectLogits(context, wanted, mine);
  context.team.Barrier();
}

/// ComputeChosen, of which each rank computes the ids in its part of the vocabulary.
void ComputeChosenHere(const Context& context, std::span<const HeadRow> wanted, FloatRows normed) {
  const DenseMatrix& head = context.weights.lm_head;
  const RankShares& shares = context.weights.shares;
  const std::size_t first = shares.vocab.Of(shares.rank()).begin;
  const auto ids_of = [&](const HeadRow& row) {
    return IdsOfRank(shares.vocab, shares.rank(), row.segment->ids);
  };
  std::size_t count = 0;
  for (const HeadRow& row : wanted) count += ids_of(row).end - ids_of(row).begin;
  float* mine = LogitsHere(context, count);
  float* logits = mine;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const Range ids = ids_of(wanted[i]);
    const Range share = context.team.Share(ids.end - ids.begin);
    for (std::size_t n = share.begin; n < share.end; ++n) {
      const auto id = static_cast<std::size_t>(wanted[i].segment->ids[ids.begin + n]);
      DotRows(context, head, id - first, 1, normed.row(i), logits + n);
    }
    logits += ids.end - ids.begin;
  }
  CollectChosen(context, wanted, {mine, count});
}

/// The logits of the tokens that each segment names, shared out by tokens.
void ComputeChosen(const Context& context, std::span<const HeadRow> wanted, FloatRows normed) {
  if (context.weights.shares.shared()) return ComputeChosenHere(context, wanted, normed);
  const DenseMatrix& head = context.weights.lm_head;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const Segment& segment = *wanted[i].segment;
    float* logits = segment.candidates[wanted[i].index].logits.data();
    const Range ids = context.team.Share(segment.ids.size());
    for (std::size_t n = ids.begin; n < ids.end; ++n) {
      DotRows(context, head, static_cast<std::size_t>(segment.ids[n]), 1, normed.row(i),
              logits + n);
    }
  }
  context.team.Barrier();
}

}  // namespace

void ComputeLogits(const Context& context) {
  const std::span<const HeadRow> dense = context.state.dense_rows;
  if (!dense.empty()) {
    ScanHead(context, dense, NormForHead(context, dense));
    TraceLogits(context, dense);
  }
  const std::span<const HeadRow> screened = context.state.screened_rows;
  if (!screened.empty()) {
    FindCandidates(context, screened, NormForHead(context, screened));
  }
  const std::span<const HeadRow> chosen = context.state.chosen_rows;
  if (!chosen.empty()) {
    ComputeChosen(context, chosen, NormForHead(context, chosen));
    TraceLogits(context, chosen);
  }
  const std::span<const HeadRow> hidden = context.state.hidden_rows;
  if (!hidden.empty()) GiveHidden(context, hidden);
}

}  // namespace bittern::model
