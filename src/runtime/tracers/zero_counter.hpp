// SPDX-License-Identifier: Apache-2.0
// How much of a feed-forward part is zero: the gates that squared ReLU shuts, and the inputs of
// down_proj that are zero as int8. What zero skipping can leave out, and a property of a trained
// network (`bittern logits --zeros`, train/README.md).
#pragma once

#include <cstdint>
#include <vector>

#include "model/config.hpp"
#include "model/trace.hpp"

namespace bittern::runtime {

/// Counts while it traces a session (Session::SetTracer).
class ZeroCounter final : public model::Tracer {
 public:
  struct Layer {
    std::uint64_t gates = 0, zero_gates = 0;    ///< gates; of them not above zero
    std::uint64_t inputs = 0, zero_inputs = 0;  ///< of down_proj; of them zero
  };

  explicit ZeroCounter(const model::ModelConfig& config);

  void OnValues(const model::TracePlace& place,
                std::span<const std::byte> values) noexcept override;
  [[nodiscard]] const std::vector<Layer>& layers() const noexcept { return layers_; }

 private:
  std::size_t normed_bytes_;  // before the int8 values of a row, which may be in several parts
  std::size_t inputs_;        // int8 values of a row
  std::vector<Layer> layers_;
  int layer_ = -1, position_ = -1;  // the row being read
  std::size_t read_ = 0;            // bytes of it
};

}  // namespace bittern::runtime
