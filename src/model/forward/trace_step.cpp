// SPDX-License-Identifier: Apache-2.0
// Where each step leaves its values, without the padding around them.
#include "model/forward/trace_step.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "kernels/sizes.h"
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
        index_(layer == nullptr ? -1 : static_cast<int>(layer - context.weights.layers.data())),
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
  void Parts(const AlignedBuffer<float>& out, const TernaryMatrix& matrix, std::size_t num) const {
    const float* row = out.data() + token_ * matrix.padded_rows();
    for (std::size_t i = 0; i < num; ++i) {
      Floats(row + matrix.parts[i].first_row, matrix.parts[i].rows);
    }
  }

  /// Of all neurons of a feed-forward part, from those that are kept; the others are zero.
  void Neurons(const LayerWeights& layer, const float* kept) const {
    if (layer.neurons.empty()) return Floats(kept, layer.num_neurons());
    const std::vector<float> all = Spread(layer, kept);
    Floats(all.data(), all.size());
  }

  /// Gate or product of the token.
  void NeuronsOf(const AlignedBuffer<float>& out, const LayerWeights& layer) const {
    Neurons(layer, out.data() + token_ * layer.gate_up_proj.padded_rows());
  }

  /// As Normed, of the product.
  void NormedProduct(const LayerWeights& layer) const {
    const std::size_t size = layer.num_neurons();
    if (!layer.ffn_sub_norm.empty()) {
      Neurons(layer, context_.state.normed.data() + token_ * size);
    }
    if (layer.neurons.empty()) return Quantized(size);
    std::vector<std::int8_t> kept(size);
    for (std::size_t i = 0; i < size; ++i) kept[i] = *QuantizedAt(size, i);
    const std::vector<std::int8_t> all = Spread(layer, kept.data());
    Bytes(all.data(), all.size());
    QuantizedScales(size);
  }

  /// The token's row of a buffer without padding.
  void Row(const AlignedBuffer<float>& buffer, std::size_t size) const {
    Floats(buffer.data() + token_ * size, size);
  }

  /// A normed row, where there is a norm, and its quantised form.
  void Normed(const std::vector<float>& weight, std::size_t size) const {
    if (!weight.empty()) Row(context_.state.normed, size);
    Quantized(size);
  }

 private:
  template <class T>
  std::vector<T> Spread(const LayerWeights& layer, const T* kept) const {
    std::vector<T> all(static_cast<std::size_t>(context_.config.intermediate_size));
    for (std::size_t i = 0; i < layer.neurons.size(); ++i) all[layer.neurons[i]] = kept[i];
    return all;
  }

  /// Element `col` of the token's activations, and those after it up to a multiple of four.
  [[nodiscard]] const std::int8_t* QuantizedAt(std::size_t cols, std::size_t col) const {
    const QuantizedActivations& acts = context_.state.activations;
    const std::int8_t* values = acts.values.data();
    const std::size_t padded = quant::BlocksOfCols(cols) * quant::kTileBlock;
    if (context_.few()) return values + token_ * padded + col;
    if (acts.has_rows()) return acts.rows.data() + token_ * padded + col;
    constexpr std::size_t kPanel = kernels::kPanelTokens;  // eight tokens side by side
    return values + token_ / kPanel * kPanel * padded + token_ % kPanel * 4 + col / 4 * 4 * kPanel +
           col % 4;
  }

  void Quantized(std::size_t cols) const {
    const bool rows = context_.few() || context_.state.activations.has_rows();
    const std::size_t at_once = rows ? cols : 4;
    for (std::size_t c = 0; c < cols; c += at_once) {
      Bytes(QuantizedAt(cols, c), std::min(at_once, cols - c));
    }
    QuantizedScales(cols);
  }

  void QuantizedScales(std::size_t cols) const {
    const QuantizedActivations& acts = context_.state.activations;
    if (context_.config.traits->grouped_activations && acts.groups != 0) {
      const std::size_t used = (cols + kernels::kGroupCols - 1) / kernels::kGroupCols;
      Floats(acts.group_scales.data() + token_ * acts.groups, used);
    } else {
      Floats(acts.scales.data() + token_, 1);
    }
  }

  const Context& context_;
  int index_;
  TracePoint point_;
  std::size_t token_;
};

/// What Tracer::Change may change.
std::span<float> FloatsOf(const Context& context, const LayerWeights* layer, TracePoint point,
                          std::size_t token) {
  ForwardState::Impl& state = context.state;
  const auto row = [&](AlignedBuffer<float>& buffer, std::size_t stride, std::size_t size) {
    return std::span<float>(buffer.data() + token * stride, size);
  };
  const auto hidden = static_cast<std::size_t>(context.config.hidden_size);
  const auto q_size = static_cast<std::size_t>(context.config.q_size());
  QuantizedActivations& acts = state.activations;
  switch (point) {
    case TracePoint::kEmbedding:
    case TracePoint::kAttnResidual:
    case TracePoint::kFfnResidual:
      return row(state.hidden, hidden, hidden);
    case TracePoint::kQkvProj:
      return row(state.qkv, layer->qkv_proj.padded_rows(), layer->qkv_proj.padded_rows());
    case TracePoint::kRope:
      return row(state.qkv, layer->qkv_proj.padded_rows(), q_size);
    case TracePoint::kAttention:
      return row(state.attended, q_size, q_size);
    case TracePoint::kOProj:
      return row(state.projected, layer->o_proj.padded_rows(), hidden);
    case TracePoint::kDownProj:
      return row(state.projected, layer->down_proj.padded_rows(), hidden);
    case TracePoint::kGate:
    case TracePoint::kAct:
      return row(state.gate_up, layer->gate_up_proj.padded_rows(), layer->num_neurons());
    case TracePoint::kAttnNorm:
    case TracePoint::kAttnSubNorm:
    case TracePoint::kFfnNorm:
    case TracePoint::kFfnSubNorm:
      if (context.config.traits->grouped_activations && acts.groups != 0) {
        return row(acts.group_scales, acts.groups, acts.groups);
      }
      return row(acts.scales, 1, 1);
    case TracePoint::kFinalNorm:
    case TracePoint::kHead:
      break;
  }
  return {};
}

void RecordToken(const Context& context, const LayerWeights* layer, TracePoint point,
                 std::size_t token) {
  const Recorder record(context, layer, point, token);
  const ForwardState::Impl& state = context.state;
  state.tracer->Change(record.place(), FloatsOf(context, layer, point, token));
  const auto hidden = static_cast<std::size_t>(context.config.hidden_size);
  const auto q_size = static_cast<std::size_t>(context.config.q_size());
  switch (point) {
    case TracePoint::kEmbedding:
    case TracePoint::kAttnResidual:
    case TracePoint::kFfnResidual:
      return record.Row(state.hidden, hidden);
    case TracePoint::kAttnNorm:
      return record.Normed(layer->attn_norm, hidden);
    case TracePoint::kQkvProj:
      return record.Parts(state.qkv, layer->qkv_proj, 3);
    case TracePoint::kRope:
      return record.Parts(state.qkv, layer->qkv_proj, 2);
    case TracePoint::kAttention:
      return record.Row(state.attended, q_size);
    case TracePoint::kAttnSubNorm:
      return record.Normed(layer->attn_sub_norm, q_size);
    case TracePoint::kOProj:
      return record.Parts(state.projected, layer->o_proj, 1);
    case TracePoint::kFfnNorm:
      return record.Normed(layer->ffn_norm, hidden);
    case TracePoint::kGate:
    case TracePoint::kAct:  // in place of the gate
      return record.NeuronsOf(state.gate_up, *layer);
    case TracePoint::kFfnSubNorm:
      return record.NormedProduct(*layer);
    case TracePoint::kDownProj:
      return record.Parts(state.projected, layer->down_proj, 1);
    case TracePoint::kFinalNorm:
    case TracePoint::kHead:
      return;  // RecordLogits
  }
}

}  // namespace

namespace internal {

void RecordStep(const Context& context, const LayerWeights* layer, TracePoint point) {
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
        .Floats(context.state.normed.data() + i * hidden, hidden);
    Recorder(context, nullptr, TracePoint::kHead, rows[i].token)
        .Floats(rows[i].segment->logits.data() + rows[i].index * vocab, vocab);
  }
  context.team.Barrier();
}

}  // namespace internal
}  // namespace bittern::model
