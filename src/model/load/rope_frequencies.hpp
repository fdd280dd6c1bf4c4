// SPDX-License-Identifier: Apache-2.0
// RoPE's angle per position, pair by pair, with the ways of stretching a context.
#pragma once

#include <vector>

#include "base/result.hpp"
#include "model/config.hpp"
#include "model/load/tensor_binder.hpp"

namespace bittern::model {

/// theta^(-2 i / head_dim) for i < head_dim / 2 (RoFormer, arXiv:2104.09864, sec. 3.2.2), stretched
/// as config.rope_scaling says, then divided by rope_freqs.weight where the file has it (how GGUF
/// stores llama3's stretching). Error kCorruptFile: a divisor below 1.
[[nodiscard]] Result<std::vector<double>> RopeFrequencies(TensorBinder& binder,
                                                          const ModelConfig& config);

/// theta^(-2 i / size) for i < size / 2: as they are before any stretching.
[[nodiscard]] std::vector<double> PlainFrequencies(double theta, int size);

/// One frequency stretched: unchanged (yarn, too), divided by the factor, or, for llama3, something
/// between by how often its wave fits the original context (Llama 3.1; transformers,
/// modeling_rope_utils.py).
[[nodiscard]] double StretchedFrequency(double frequency, const RopeScaling& scaling) noexcept;

}  // namespace bittern::model
