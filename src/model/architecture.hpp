// SPDX-License-Identifier: Apache-2.0
// The architectures this engine runs, a row each: what their graphs have in common is in
// block.cpp, what tells them apart is here.
#pragma once

#include <span>
#include <string_view>

#include "base/result.hpp"
#include "formats/metadata.hpp"

namespace bittern::model {

/// What the feed-forward network applies to its gate.
enum class Activation { kRelu2, kSilu };
[[nodiscard]] std::string_view ActivationName(Activation activation) noexcept;

struct Architecture {
  std::string_view name;  ///< general.architecture
  Activation activation;  ///< unless something better is known (activation.hpp)
  bool sub_norms;         ///< attn_sub_norm before o_proj, ffn_sub_norm before down_proj
  bool head_norms;        ///< q and k of every head pass an RMS norm before their rotation
  /// GGUF files have the rows of q and k permuted for a rotation of neighbours (x[2i], x[2i+1]);
  /// they are put back at load, so that the rotation is of halves for everyone.
  bool permuted_qk;
  /// Activations are quantised in groups of 64 columns instead of whole tokens: for networks that
  /// were not trained with quantised activations.
  bool grouped_activations;
};

[[nodiscard]] std::span<const Architecture> Architectures() noexcept;

/// The row of metadata's general.architecture. Errors: kCorruptFile (missing), kUnsupported (not
/// in the table, which the message lists).
[[nodiscard]] Result<const Architecture*> FindArchitecture(const formats::Metadata& metadata);

}  // namespace bittern::model
