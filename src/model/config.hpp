// SPDX-License-Identifier: Apache-2.0
// Hyperparameters under Hugging Face's names, read from a checkpoint and validated once.
#pragma once

#include <cstdint>
#include <string>

#include "base/decision.hpp"
#include "base/result.hpp"
#include "formats/checkpoint.hpp"

namespace bittern::model {

/// What the feed-forward network applies to its gate.
enum class Activation { kRelu2, kSilu };
[[nodiscard]] std::string_view ActivationName(Activation activation) noexcept;

struct ModelConfig {
  std::string architecture;  ///< general.architecture, e.g. "bitnet-b1.58"
  std::string name;          ///< general.name, may be empty
  int hidden_size = 0;
  int intermediate_size = 0;
  int num_layers = 0;
  int num_heads = 0;
  int num_kv_heads = 0;
  int head_dim = 0;
  int vocab_size = 0;
  int context_length = 0;
  float rms_norm_eps = 0;
  double rope_theta = 0;
  Activation activation = Activation::kRelu2;

  [[nodiscard]] int q_size() const noexcept { return num_heads * head_dim; }
  [[nodiscard]] int kv_size() const noexcept { return num_kv_heads * head_dim; }
};

/// Reads and checks every hyperparameter; resolves the activation (formats: explicit key, then
/// architecture, geometry and tokenizer) and writes the decisions down.
/// Errors: kUnsupported (architecture), kCorruptFile (missing or impossible value), by key.
[[nodiscard]] Result<ModelConfig> ReadConfig(const formats::Checkpoint& checkpoint,
                                             Decisions* decisions);

}  // namespace bittern::model
