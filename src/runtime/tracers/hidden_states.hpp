// SPDX-License-Identifier: Apache-2.0
// The residual stream of a text, kept while a session is traced (Session::SetTracer). One thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "model/config.hpp"
#include "model/trace.hpp"

namespace bittern::runtime {

/// Gathers the residual stream of every position: the embedding, then each layer's end.
class HiddenStates final : public model::Tracer {
 public:
  explicit HiddenStates(const model::ModelConfig& config)
      : row_bytes_(static_cast<std::size_t>(config.hidden_size) * sizeof(float)),
        rows_(static_cast<std::size_t>(config.num_layers) + 1) {}

  void OnValues(const model::TracePlace& place,
                std::span<const std::byte> values) noexcept override {
    using model::TracePoint;
    if (place.point != TracePoint::kEmbedding && place.point != TracePoint::kFfnResidual) return;
    const std::size_t row = static_cast<std::size_t>(place.position) * rows_ +
                            static_cast<std::size_t>(place.layer + 1);
    if (row != row_) filled_ = 0;
    row_ = row;
    if (row * row_bytes_ + filled_ + values.size() > bytes_.size()) return;
    std::ranges::copy(values, bytes_.begin() + static_cast<std::ptrdiff_t>(row * row_bytes_) +
                                  static_cast<std::ptrdiff_t>(filled_));
    filled_ += values.size();
  }

  /// Room for this many positions.
  void Reserve(std::size_t positions) { bytes_.resize(positions * rows_ * row_bytes_); }

  /// float[position][layer + 1][hidden_size], as far as it was traced; 0 elsewhere.
  [[nodiscard]] std::span<const float> values() const noexcept {
    return {reinterpret_cast<const float*>(bytes_.data()), bytes_.size() / sizeof(float)};
  }

 private:
  std::size_t row_bytes_, rows_;
  std::vector<std::byte> bytes_ = {};
  std::size_t row_ = 0, filled_ = 0;  // the row being filled, and how far
};

}  // namespace bittern::runtime
