// SPDX-License-Identifier: Apache-2.0
// Looking at a forward pass from outside, step by step: what a certificate hashes. Off unless
// ForwardState::SetTracer was called; then it costs one null pointer test a step. Kernels know
// nothing of it.
#pragma once

#include <cstddef>
#include <span>

#include "model/trace_point.hpp"

namespace bittern::model {

/// The place of the values.
struct TracePlace {
  int sequence;  ///< Segment::tag of the token's sequence
  int layer;     ///< -1 outside the layers
  TracePoint point;
  int position;  ///< of the token in its sequence
};

/// Receives the values. Calls come from one thread at a time, for each step token by token in
/// their order in the batch; the values of one token may come in several parts. Zeros are +0.
class Tracer {
 public:
  virtual ~Tracer() = default;
  /// values: little-endian float32, or int8, as TracePoint says. Valid during the call only.
  virtual void OnValues(const TracePlace& place, std::span<const std::byte> values) noexcept = 0;
  /// For tests of what finds faults: may change what the next step reads, before OnValues shows it.
  /// values: floats of the place, but of norms the scales of the int8 values; of qkv_proj all three
  /// parts with their padding, of rope q. Not called for final_norm and head. A product whose zeros
  /// are skipped (LoadOptions::zero_skip) may have been used already. Called as OnValues.
  virtual void Change(const TracePlace& place, std::span<float> values) noexcept;
};

}  // namespace bittern::model
