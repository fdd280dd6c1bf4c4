// SPDX-License-Identifier: Apache-2.0
#include "runtime/tracers/zero_counter.hpp"

#include <algorithm>
#include <cstring>

namespace bittern::runtime {
namespace {

/// Counts the gates that ReLU makes 0: negative ones, zeros and NaN.
void CountGates(std::span<const std::byte> values, ZeroCounter::Layer* layer) {
  for (std::size_t i = 0; i + sizeof(float) <= values.size(); i += sizeof(float)) {
    float gate;
    std::memcpy(&gate, values.data() + i, sizeof(gate));
    ++layer->gates;
    if (!(gate > 0)) ++layer->zero_gates;
  }
}

}  // namespace

ZeroCounter::ZeroCounter(const model::ModelConfig& config)
    : inputs_(static_cast<std::size_t>(config.intermediate_size)),
      layers_(static_cast<std::size_t>(config.num_layers)) {
  normed_bytes_ = config.traits->sub_norms ? inputs_ * sizeof(float) : 0;
}

/// The values of a place may come in several calls: read_ counts the bytes of this layer and
/// position so far. After the norm's floats, if any, come the int8 inputs of down_proj.
void ZeroCounter::OnValues(const model::TracePlace& place,
                           std::span<const std::byte> values) noexcept {
  const int layer = place.layer, position = place.position;
  if (layer < 0 || static_cast<std::size_t>(layer) >= layers_.size()) return;
  Layer& counts = layers_[static_cast<std::size_t>(layer)];
  if (place.point == model::TracePoint::kGate) return CountGates(values, &counts);
  if (place.point != model::TracePoint::kFfnSubNorm) return;
  if (layer != layer_ || position != position_) read_ = 0;
  layer_ = layer;
  position_ = position;
  for (const std::byte value : values) {
    const bool int8 = read_ >= normed_bytes_ && read_ < normed_bytes_ + inputs_;
    ++read_;
    if (!int8) continue;
    ++counts.inputs;
    if (value == std::byte{0}) ++counts.zero_inputs;
  }
}

}  // namespace bittern::runtime
