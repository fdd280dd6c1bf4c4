// SPDX-License-Identifier: Apache-2.0
// The material of hypotheses, for the files that make them.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "doctor/facts/finding.hpp"
#include "doctor/hypotheses/hypotheses.hpp"
#include "formats/network_tensors.hpp"
#include "model/config.hpp"

namespace bittern::doctor {

/// The material of a hypothesis.
struct Subject {
  const formats::Checkpoint& file;
  model::ModelConfig config;
  bool small;
  const std::vector<Part>& suspects;
  std::vector<Hypothesis>* out;

  void Add(Hypothesis hypothesis) const { out->push_back(std::move(hypothesis)); }
  [[nodiscard]] bool IsSuspect(int layer, bool attention) const {
    return std::ranges::find(suspects, Part{layer, attention}) != suspects.end();
  }
  [[nodiscard]] bool HasI2s() const {
    return std::ranges::any_of(file.tensors(), [](const formats::Tensor& tensor) {
      return tensor.format == quant::WeightFormat::kI2_S;
    });
  }
  [[nodiscard]] const formats::Tensor* Layer(int layer, formats::TensorId id) const {
    return file.Find(formats::TensorName(id, layer));
  }
};

[[nodiscard]] inline bool SameShape(const formats::Tensor* a, const formats::Tensor* b) {
  return a != nullptr && b != nullptr && a->shape == b->shape;
}

/// Keys that hide from the shapes: the size of heads, a stretched rotation; the type of norms.
void HypothesesOfKeys(const Subject& subject);
/// Single matrices: signs, neighbours of one kind, the size of a norm.
void HypothesesOfParts(const Subject& subject);

}  // namespace bittern::doctor
