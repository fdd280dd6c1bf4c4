// SPDX-License-Identifier: Apache-2.0
// The places where each step leaves its values, without the padding around them.
#include "model/forward/trace_step.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "kernels/sizes.h"
#include "model/forward/exchange.hpp"
#include "quant/layouts/tile16.hpp"

namespace bittern::model {
namespace {

static_assert(std::endian::native == std::endian::little,
              "model files, traces and certificates are little-endian");

/// One token's way to the tracer.
class Recorder {
 public:
  Recorder(const Context& context, const LayerWeights* layer, TracePoint point, std::size_t token)
      : context_(context),
        index_(layer == nullptr ? -1 : context.IndexOf(*layer)),
        point_(point),
        token_(token) {}

  [[nodiscard]] TracePlace place() const {
    return {.sequence = context_.segment(token_).tag,
            .layer = index_,
            .point = point_,
            .position = static_cast<int>(context_.position(token_))};
  }

  void Bytes(const void* values, std::size_t size) const {
    context_.state.tracer->OnValues(place(), {static_cast<const std::byte*>(values), size});
  }

  /// A skipped product may be +0 where the computed one is -0; nothing after it can tell.
  void Floats(const float* values, std::size_t count) const {
    std::array<float, 256> part;
    for (std::size_t i = 0; i < count; i += part.size()) {
      const std::size_t n = std::min(part.size(), count - i);
      for (std::size_t k = 0; k < n; ++k) part[k] = values[i + k] + 0.0f;
      Bytes(part.data(), n * sizeof(float));
    }
  }

  /// Some parts of a stacked projection's output.
  void Parts(FloatRows out, const TernaryMatrix& matrix, std::size_t num) const {
    for (std::size_t i = 0; i < num; ++i) {
      Floats(out.row(token_) + matrix.parts[i].first_row, matrix.parts[i].rows);
    }
  }

  /// All neurons of a feed-forward part, from those that are kept; the others are zero.
  void Neurons(const LayerWeights& layer, const float* kept) const {
    if (layer.neurons.empty()) return Floats(kept, layer.all_neurons());
    const std::vector<float> all = Spread(layer, kept);
    Floats(all.data(), all.size());
  }

  /// As Normed, of the product.
  void NormedProduct(const LayerWeights& layer) const {
    const std::size_t size = layer.all_neurons();
    if (!layer.ffn_sub_norm.empty()) {
      Neurons(layer, context_.state.normed.row(token_));
    }
    if (layer.neurons.empty()) return Quantized(size);
    std::vector<std::int8_t> kept(size);
    for (std::size_t i = 0; i < size; ++i) kept[i] = *QuantizedAt(size, 0, i);
    const std::vector<std::int8_t> all = Spread(layer, kept.data());
    Bytes(all.data(), all.size());
    QuantizedScales(size);
  }

  /// A normed row, where there is a norm, and its quantised form.
  void Normed(const std::vector<float>& weight, std::size_t size) const {
    if (!weight.empty()) Floats(context_.state.normed.row(token_), size);
    Quantized(size);
  }

 private:
  template <class T>
  std::vector<T> Spread(const LayerWeights& layer, const T* kept) const {
    std::vector<T> all(static_cast<std::size_t>(context_.config.intermediate_size));
    for (std::size_t i = 0; i < layer.neurons.size(); ++i) all[layer.neurons[i]] = kept[i];
    return all;
  }

  /// Element `col` of a digit of the token's activations, and those after it up to a multiple of
  /// four.
  [[nodiscard]] const std::int8_t* QuantizedAt(std::size_t cols, std::size_t digit,
                                               std::size_t col) const {
    const QuantizedRows rows = context_.Quantized(cols);
    const std::size_t row = rows.row_of(token_) + digit;
    if (rows.has_plain()) return rows.plain(row) + col;
    return rows.at(row) + col / 4 * rows.step() + col % 4;
  }

  void Quantized(std::size_t cols) const {
    const QuantizedRows rows = context_.Quantized(cols);
    const std::size_t at_once = rows.has_plain() ? cols : 4;
    for (std::size_t digit = 0; digit < rows.digits(); ++digit) {
      for (std::size_t c = 0; c < cols; c += at_once) {
        Bytes(QuantizedAt(cols, digit, c), std::min(at_once, cols - c));
      }
    }
    QuantizedScales(cols);
  }

  void QuantizedScales(std::size_t cols) const {
    const QuantizedRows rows = context_.Quantized(cols);
    if (context_.config.grouped_activations && rows.memory.groups != 0) {
      const std::size_t used = (cols + kernels::kGroupCols - 1) / kernels::kGroupCols;
      for (std::size_t digit = 0; digit < rows.digits(); ++digit) {
        Floats(rows.group_scales(rows.row_of(token_) + digit), used);
      }
    } else {
      Floats(rows.scales(token_), 1);
    }
  }

  const Context& context_;
  int index_;
  TracePoint point_;
  std::size_t token_;
};

/// The values of q, k and v together, and of what gates them; of q and k at kRope.
std::size_t RowsOfQkv(const Context& context, const LayerWeights& layer, TracePoint point) {
  const auto q = static_cast<std::size_t>(context.config.q_size());
  const auto kv = static_cast<std::size_t>(context.config.kv_size());
  if (layer.is_delta()) {
    const DeltaShape& delta = context.config.delta;
    const int gate = point == TracePoint::kRope ? 0 : delta.value_size();
    return static_cast<std::size_t>(delta.mix_size() + gate);
  }
  if (point == TracePoint::kRope) return q + kv;
  return q + 2 * kv + (layer.qkv_proj.parts.size() > 3 ? q : 0);
}

/// The floats that Tracer::Change may change: the place's own; at norms the scales of their int8
/// values.
std::span<float> FloatsOf(const Context& context, const LayerWeights* layer, TracePoint point,
                          std::size_t token) {
  const ForwardState::Impl& state = context.state;
  const auto row = [&](FloatRows rows, std::size_t size) {
    return std::span<float>(rows.row(token), size);
  };
  const QuantizedRows quantized = context.Quantized(0);  // of any width
  const std::size_t groups = quantized.memory.groups;
  const bool shared = context.weights.shares.shared();
  switch (point) {
    case TracePoint::kEmbedding:
    case TracePoint::kAttnResidual:
    case TracePoint::kFfnResidual:
      return row(state.hidden, state.hidden.stride);
    case TracePoint::kQkvProj:
    case TracePoint::kRope:
      if (shared) return row(state.exchanged.traced, RowsOfQkv(context, *layer, point));
      if (point == TracePoint::kQkvProj) return row(state.qkv, layer->qkv_proj.padded_rows());
      return layer->is_delta() ? row(state.mixed, state.mixed.stride)
                               : row(state.qkv, layer->o_proj.cols);
    case TracePoint::kAttention:
      return row(state.attended, layer->o_proj.cols);
    case TracePoint::kOProj:
    case TracePoint::kDownProj:
      return row(state.projected, state.hidden.stride);
    case TracePoint::kGate:
      return row(shared ? state.exchanged.traced : state.gate_up, layer->all_neurons());
    case TracePoint::kAct:  // in place of the gate
      return row(shared ? state.exchanged.product : state.gate_up, layer->all_neurons());
    case TracePoint::kAttnNorm:
    case TracePoint::kAttnSubNorm:
    case TracePoint::kFfnNorm:
    case TracePoint::kFfnSubNorm:
      if (context.config.grouped_activations && groups != 0) {
        return {quantized.group_scales(quantized.row_of(token)), quantized.digits() * groups};
      }
      return {quantized.scales(token), 1};
    case TracePoint::kFinalNorm:
    case TracePoint::kHead:
      break;
  }
  return {};
}

void RecordToken(const Context& context, const LayerWeights* layer, TracePoint point,
                 std::size_t token) {
  const Recorder record(context, layer, point, token);
  const std::span<float> floats = FloatsOf(context, layer, point, token);
  const ForwardState::Impl& state = context.state;
  const bool shared = context.weights.shares.shared();
  state.tracer->Change(record.place(), floats);
  switch (point) {
    case TracePoint::kEmbedding:
    case TracePoint::kAttnResidual:
    case TracePoint::kFfnResidual:
    case TracePoint::kAttention:
    case TracePoint::kOProj:
    case TracePoint::kDownProj:
      return record.Floats(floats.data(), floats.size());
    case TracePoint::kQkvProj:
      if (shared) return record.Floats(floats.data(), floats.size());
      return record.Parts(state.qkv, layer->qkv_proj, layer->qkv_proj.parts.size());
    case TracePoint::kRope:
      if (shared || layer->is_delta()) return record.Floats(floats.data(), floats.size());
      return record.Parts(state.qkv, layer->qkv_proj, 2);
    case TracePoint::kGate:
    case TracePoint::kAct:
      return record.Neurons(*layer, floats.data());
    case TracePoint::kAttnNorm:
      return record.Normed(layer->attn_norm, layer->qkv_proj.cols);
    case TracePoint::kAttnSubNorm:
      return record.Normed(layer->attn_sub_norm, layer->o_proj.cols);
    case TracePoint::kFfnNorm:
      return record.Normed(layer->ffn_norm, state.hidden.stride);
    case TracePoint::kFfnSubNorm:
      return record.NormedProduct(*layer);
    case TracePoint::kFinalNorm:
    case TracePoint::kHead:
      return;  // RecordLogits
  }
}

}  // namespace

namespace internal {

void RecordStep(const Context& context, const LayerWeights* layer, TracePoint point) {
  ExchangeForTracer(context, layer, point);
  for (std::size_t token = 0; token < context.num_tokens && context.team.index() == 0; ++token) {
    RecordToken(context, layer, point, token);
  }
  context.team.Barrier();
}

void RecordLogits(const Context& context, std::span<const HeadRow> rows) {
  const auto hidden = static_cast<std::size_t>(context.config.hidden_size);
  const auto vocab = static_cast<std::size_t>(context.config.vocab_size);
  for (std::size_t i = 0; i < rows.size() && context.team.index() == 0; ++i) {
    Recorder(context, nullptr, TracePoint::kFinalNorm, rows[i].token)
        .Floats(context.state.normed.row(i), hidden);
    if (rows[i].segment->logits.empty()) continue;  // only some of them were computed
    Recorder(context, nullptr, TracePoint::kHead, rows[i].token)
        .Floats(rows[i].segment->logits.data() + rows[i].index * vocab, vocab);
  }
  context.team.Barrier();
}

}  // namespace internal
}  // namespace bittern::model
