// SPDX-License-Identifier: Apache-2.0
// Hyperparameters under Hugging Face's names, read from a checkpoint and validated once.
#pragma once

#include <cstdint>
#include <string>

#include "base/decision.hpp"
#include "base/result.hpp"
#include "formats/architecture.hpp"
#include "formats/checkpoint.hpp"

namespace bittern::model {

using formats::Activation;
using formats::ArchitectureSpec;

/// How RoPE's frequencies are stretched for a longer context (rope_frequencies.hpp).
struct RopeScaling {
  enum class Kind { kNone, kLinear, kLlama3 };
  Kind kind = Kind::kNone;
  double factor = 1;            ///< >= 1
  double low_freq_factor = 0;   ///< llama3: waves with fewer turns are divided by the factor
  double high_freq_factor = 0;  ///< llama3: waves with more turns stay
  double original_context = 0;  ///< llama3: over which turns are counted
};

struct ModelConfig {
  std::string architecture;                  ///< general.architecture, e.g. "bitnet-b1.58"
  const ArchitectureSpec* traits = nullptr;  ///< its row of the table, which lives forever
  std::string name;                          ///< general.name, may be empty
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
  RopeScaling rope_scaling;
  Activation activation = Activation::kRelu2;
  bool permuted_qk =
      false;  ///< the rows of q and k are in the order of ArchitectureSpec::permuted_qk

  [[nodiscard]] int q_size() const noexcept { return num_heads * head_dim; }
  [[nodiscard]] int kv_size() const noexcept { return num_kv_heads * head_dim; }
};

/// Reads and checks every hyperparameter; resolves the activation (formats: explicit key, then
/// architecture, geometry and tokenizer) and writes the decisions down.
/// Errors: kUnsupported (architecture), kCorruptFile (missing or impossible value), by key.
[[nodiscard]] Result<ModelConfig> ReadConfig(const formats::Checkpoint& checkpoint,
                                             Decisions* decisions);

}  // namespace bittern::model
