// SPDX-License-Identifier: Apache-2.0
// Hyperparameters under Hugging Face's names, read from a checkpoint and validated once.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/decision.hpp"
#include "base/result.hpp"
#include "formats/architecture.hpp"
#include "formats/checkpoint.hpp"

namespace bittern::model {

using formats::Activation;
using formats::ArchitectureSpec;

/// How RoPE's frequencies are stretched for a longer context (rope_frequencies.hpp).
struct RopeScaling {
  enum class Kind { kNone, kLinear, kLlama3, kYarn, kLong };
  Kind kind = Kind::kNone;
  double factor = 1;            ///< >= 1
  double low_freq_factor = 0;   ///< llama3: waves with fewer turns are divided by the factor
  double high_freq_factor = 0;  ///< llama3: waves with more turns stay
  /// llama3, yarn: over which turns are counted; longrope: a longer one has factors of its own.
  double original_context = 0;
  double beta_fast = 0;  ///< yarn: waves with more turns stay
  double beta_slow = 0;  ///< yarn: waves with fewer turns are divided by the factor
  double magnitude = 1;  ///< of what is rotated: sines and cosines are times this
};

/// A delta layer: so many heads of so many elements, and a convolution of `taps` tokens in front.
/// Each key head serves value_heads / key_heads value heads: value head h has key head h %
/// key_heads.
struct DeltaShape {
  int key_heads = 0, value_heads = 0, head_dim = 0, taps = 0;

  [[nodiscard]] int key_size() const noexcept { return key_heads * head_dim; }
  [[nodiscard]] int value_size() const noexcept { return value_heads * head_dim; }
  /// Queries, keys and values, which the convolution mixes.
  [[nodiscard]] int mix_size() const noexcept { return 2 * key_size() + value_size(); }
  /// Floats of a layer's state: a matrix a value head, then the last taps - 1 inputs of the
  /// convolution.
  [[nodiscard]] std::size_t state_size() const noexcept {
    return static_cast<std::size_t>(value_size()) * static_cast<std::size_t>(head_dim) +
           static_cast<std::size_t>(taps - 1) * static_cast<std::size_t>(mix_size());
  }
};

/// A mixture of experts: for each token `used` of `count` are chosen, of so many neurons each.
struct ExpertShape {
  int count = 0, used = 0, neurons = 0;  ///< count 0: there are none
  /// The most that a layer's gates may be before their activation, and that |up| may be.
  std::vector<float> clamps = {};
};

/// ArchitectureSpec::scaled_stream: rows of the embedding are multiplied, so is what attention and
/// the feed-forward part add to the stream, and the input of the head is divided.
struct StreamScales {
  float embedding = 1, residual = 1, logits = 1;
};

/// The attention heads that a process computes. Query heads lie side by side in groups of
/// `group`, each of which has one of the key-value heads that the process has.
struct HeadShare {
  int first = 0, heads = 0;        ///< query heads, of all
  int first_kv = 0, kv_heads = 0;  ///< the key-value heads that they see
  int group = 1;
  int heads_of_kv = 1;  ///< query heads that a key-value head has in the whole network

  [[nodiscard]] int groups() const noexcept { return heads / group; }
  /// The key-value head of a group, counted from first_kv.
  [[nodiscard]] int KvOf(int index) const noexcept {
    return (first + index * group) / heads_of_kv - first_kv;
  }
};

struct ModelConfig {
  std::string architecture;                  ///< general.architecture, e.g. "bitnet-b1.58"
  const ArchitectureSpec* traits = nullptr;  ///< its row of the table, which lives forever
  std::string name;                          ///< general.name, may be empty
  int hidden_size = 0;
  int intermediate_size = 0;  ///< of experts: the neurons of all that are chosen for a token
  ExpertShape experts;        ///< in place of one network of intermediate_size neurons
  int num_layers = 0;
  int num_draft_layers = 0;  ///< behind them in the file: layers that guess tokens, not used
  int num_heads = 0;
  int num_kv_heads = 0;
  int head_dim = 0;
  /// The query heads [first, second) that this process computes; {0, 0}: all.
  std::pair<int, int> heads_here = {0, 0};
  std::pair<int, int> delta_keys_here = {0, 0};  ///< the same, key heads of delta layers
  int vocab_size = 0;
  int context_length = 0;
  int rotated_dim = 0;         ///< elements of a head that RoPE rotates: the first ones
  int attention_interval = 1;  ///< the last of so many layers has keys and values
  DeltaShape delta;            ///< of the others
  int window = 0;              ///< positions that windowed layers see, a token's own among them
  std::vector<bool> windowed;  ///< which layers are; empty: none, and all have a rotation
  double window_theta = 0;  ///< of the rotation of windowed layers, where the others have one too
  float rms_norm_eps = 0;
  double rope_theta = 0;
  RopeScaling rope_scaling;
  StreamScales scales;
  Activation activation = Activation::kRelu2;
  bool input_norms = false;          ///< each projection norms its own input
  bool grouped_activations = false;  ///< as ArchitectureSpec has them, unless input_norms
  /// Bits of grouped activations: 8, 10 or 16 (LoadOptions::activations).
  int activation_bits = 8;
  bool permuted_qk =
      false;  ///< the rows of q and k are in the order of ArchitectureSpec::permuted_qk

  [[nodiscard]] int q_size() const noexcept { return num_heads * head_dim; }
  [[nodiscard]] int kv_size() const noexcept { return num_kv_heads * head_dim; }
  [[nodiscard]] HeadShare HeadsHere() const noexcept;
  /// `delta` with the heads that this process computes: some key heads, and the value heads that
  /// they serve, in the same order.
  [[nodiscard]] DeltaShape DeltaHere() const noexcept;
  /// Whether a layer has a recurrent state in place of keys and values.
  [[nodiscard]] bool IsDelta(int layer) const noexcept {
    return (layer + 1) % attention_interval != 0;
  }
  /// The last positions that a token of a layer sees; 0: it sees all.
  [[nodiscard]] int WindowOf(int layer) const noexcept {
    return !windowed.empty() && windowed[static_cast<std::size_t>(layer)] ? window : 0;
  }
  /// Whether queries and keys of a layer are rotated.
  [[nodiscard]] bool IsRotated(int layer) const noexcept {
    return windowed.empty() || window_theta != 0 || WindowOf(layer) != 0;
  }
  /// Layers with keys and values, and those with a state; of each kind, the layers before `layer`.
  [[nodiscard]] int num_kv_layers() const noexcept { return KvLayersBefore(num_layers); }
  [[nodiscard]] int KvLayersBefore(int layer) const noexcept { return layer / attention_interval; }
  [[nodiscard]] int num_delta_layers() const noexcept { return DeltaLayersBefore(num_layers); }
  [[nodiscard]] int DeltaLayersBefore(int layer) const noexcept {
    return layer - KvLayersBefore(layer);
  }
};

/// Reads and checks every hyperparameter; resolves the activation (formats: explicit key, then
/// architecture, geometry and tokenizer) and writes the decisions down.
/// Errors: kUnsupported (architecture), kCorruptFile (missing or impossible value), by key.
[[nodiscard]] Result<ModelConfig> ReadConfig(const formats::Checkpoint& checkpoint,
                                             Decisions* decisions);

}  // namespace bittern::model
