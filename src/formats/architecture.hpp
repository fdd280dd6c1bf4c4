// SPDX-License-Identifier: Apache-2.0
// The architectures that Bittern knows, a row each. The row is all that tells one from another: the
// readers, the converter, the doctor and the forward pass look here, and nothing else compares
// names. What the architectures have in common is in model/forward/block.cpp. Any thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.hpp"
#include "formats/metadata.hpp"

namespace bittern::formats {

/// The function that the feed-forward network applies to its gate.
enum class Activation { kRelu2, kSilu, kGelu };
[[nodiscard]] std::string_view ActivationName(Activation activation) noexcept;

struct ArchitectureSpec {
  std::string_view name;  ///< general.architecture of a GGUF file
  /// Classes in config.json of a Hugging Face folder. Several rows may have the same: then
  /// hidden_act decides. The first is what the converter writes; unused ones are empty.
  std::array<std::string_view, 2> hf_classes = {};
  std::string_view hf_model_type = {};  ///< model_type in config.json
  bool hf_written = true;               ///< the converter writes such folders, not only reads them
  Activation activation;                ///< unless the file says more (model/activation.hpp)
  /// The name of the same network with the other activation; empty: no such name.
  std::string_view other_activation = {};
  /// BitNet's own classes: they quantise float weights in every pass, config.json has to give the
  /// base of the rotation, and a file without a chat template gets BitNet's.
  bool bitnet = false;
  bool sub_norms = false;      ///< attn_sub_norm before o_proj, ffn_sub_norm before down_proj
  bool head_norms = false;     ///< q and k of every head pass an RMS norm before their rotation
  bool rotates_first = false;  ///< with head_norms: they pass it after their rotation
  /// The base of the rotation is yet to be multiplied by a power of an alpha, where the file names
  /// one (BaseWithAlpha): Hugging Face folders do, most GGUF files have the product.
  bool rope_alpha = false;
  /// The file has factors of the embedding, of what every layer adds, and a divisor of the logits.
  bool scaled_stream = false;
  /// GGUF files have the rows of q and k permuted for a rotation of neighbours (x[2i], x[2i+1]).
  /// Loading puts them back, so the forward pass always rotates halves.
  bool permuted_qk = false;
  /// Activations are quantised in groups of 64 columns instead of whole tokens: for networks that
  /// were not trained with quantised activations.
  bool grouped_activations = false;
  /// Most layers have a recurrent state in place of keys and values (model/forward/delta.hpp), and
  /// attention has a gate, whose rows stand in attn_q, behind those of each head's query.
  bool delta_layers = false;
  /// A mixture of experts stands in place of the feed-forward part (model/forward/experts.hpp).
  bool experts = false;
  /// With experts: the limit of gates and ups where the file is silent; 0: none.
  float expert_clamp = 0;
  /// The file says which layers see the last positions alone. The other layers see all, and have
  /// no rotation.
  bool windows = false;
  /// A file may have windows: every layer but each `window_period`-th sees the last positions
  /// alone, and all have a rotation, those with a window one of their own base. 0: it may not.
  int window_period = 0;
  /// A file may have a norm for the input of each projection (attn_q_norm_in, ...). Such a network
  /// is trained as BitNet is: an int8 scale for each token, whatever grouped_activations says.
  bool input_norms = false;
  /// The outputs of o_proj and down_proj pass a norm before they join the residual stream.
  bool post_norms = false;
  /// The embedding of a token is times sqrt(hidden_size).
  bool scaled_embedding = false;
  /// Hugging Face folders have masters whose rows are ternary by a threshold of their own.
  bool hf_thresholds = false;
  /// Hugging Face folders have the weights of norms less one, but those of kInputNorms and
  /// kSsmNorm.
  bool hf_norms_less_one = false;
  /// The pre-tokenizer of its byte-level vocabularies; empty: the vocabulary has to tell.
  std::string_view pre = {};

  /// A file may have a rotation of a part of each head.
  [[nodiscard]] constexpr bool rotates_parts() const noexcept { return delta_layers || windows; }
};

/// The base of a rotation of heads of head_dim elements (more than 2), a float.
[[nodiscard]] float BaseWithAlpha(double base, double alpha, std::uint64_t head_dim) noexcept;

[[nodiscard]] std::span<const ArchitectureSpec> Architectures() noexcept;

/// The row of a name; null: unknown.
[[nodiscard]] const ArchitectureSpec* FindArchitecture(std::string_view name) noexcept;

/// The row of metadata's general.architecture. Errors: kCorruptFile (missing), kUnsupported (not
/// in the table, which the message lists).
[[nodiscard]] Result<const ArchitectureSpec*> ArchitectureOf(const Metadata& metadata);

/// The row of a class in config.json and its hidden_act. Error kUnsupported: not in the table,
/// which the message lists.
[[nodiscard]] Result<const ArchitectureSpec*> ArchitectureOfClass(std::string_view hf_class,
                                                                  std::string_view hidden_act);

}  // namespace bittern::formats
