// SPDX-License-Identifier: Apache-2.0
// The weights of a network, bound to their layers, checked and repacked once. After Load nothing
// in here can fail.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/decision.hpp"
#include "base/memory/aligned_buffer.hpp"
#include "base/result.hpp"
#include "base/threads/thread_pool.hpp"
#include "formats/checkpoint.hpp"
#include "model/config.hpp"
#include "model/hadamard_rotation.hpp"
#include "model/load_options.hpp"
#include "model/ranks/rank_shares.hpp"
#include "model/screened_head.hpp"
#include "model/ternary_matrix.hpp"
#include "quant/weight_format.hpp"

namespace bittern::kernels {
struct Kernels;
}

namespace bittern::model {

/// The weights of a delta layer beside its projections (model/forward/delta.hpp).
struct DeltaWeights {
  std::vector<float> gates;  // (2 value_heads, hidden_size): of the rates, then of the decays
  std::vector<float> conv;   // (taps, mix_size)
  std::vector<float> step_bias, decay_scale;  // (value_heads) each; decay_scale is not above 0
  // (head_dim) each, all elements alike. They are weights of RMS norms. A query then has the length
  // 1 / sqrt(head_dim), a key the length 1.
  std::vector<float> query_unit, key_unit;
};

/// A layer's mixture of experts beside its matrices (model/forward/experts.hpp).
struct ExpertWeights {
  std::vector<float> router;                     // (count, hidden_size)
  std::size_t count = 0, used = 0, neurons = 0;  // as ExpertShape has them; neurons: of this rank
  std::size_t all_neurons = 0;                   // of all ranks
  float clamp = 0;                               // of gate and up
};

struct LayerWeights {
  std::vector<float> attn_norm;  // (hidden_size)
  // (hidden_size) each: norms of the inputs of q, k and v, of gate and up, behind the layer's own;
  // empty but where ModelConfig::input_norms.
  std::vector<float> q_input_norm, k_input_norm, v_input_norm, gate_input_norm, up_input_norm;
  TernaryMatrix qkv_proj;             // (q_size + 2 kv_size, hidden_size): parts q, k, v, and the
                                      // gate (q_size) where attention has one; of a delta layer
                                      // (mix_size + value_size, hidden_size): mix, gate
  std::vector<float> q_norm, k_norm;  // (head_dim) each; empty where the network has none
  std::vector<float> attn_sub_norm;   // (q_size); may be empty
  TernaryMatrix o_proj;               // (hidden_size, q_size); of a delta layer value_size
  std::vector<float> attn_post_norm;  // (hidden_size), of o_proj's output; may be empty
  DeltaWeights delta;                 // of a delta layer; else empty
  std::vector<float> delta_norm;      // (head_dim of a delta layer)
  std::vector<float> ffn_norm;        // (hidden_size)
  ExpertWeights experts;              // empty in a layer without experts; with them, gate, up and
                                      // down_proj have the rows of all experts, one expert after
                                      // the other, and scales of groups
  TernaryMatrix gate_up_proj;         // (2 intermediate_size, hidden_size): parts gate, up; or
                                      // the gate alone, where zeros are skipped
  TernaryMatrix up_proj;              // (intermediate_size, hidden_size), kRows; else empty
  std::vector<float> ffn_sub_norm;    // (intermediate_size); may be empty
  TernaryMatrix down_proj;            // (hidden_size, intermediate_size); kColumns with up_proj
  std::vector<float> ffn_post_norm;   // (hidden_size), of down_proj's output; may be empty
  std::vector<TernaryMatrix> qkv_parts, gate_up_parts;  // parts of qkv_proj and gate_up_proj, whose
                                                        // memory they have, where inputs are normed
  /// If not empty, dead neurons are left out (model/load/dead_neurons.hpp): the original indices of
  /// the neurons kept. Row i of gate and up, element i of ffn_sub_norm and column i of down_proj
  /// belong to neurons[i].
  std::vector<std::uint32_t> neurons;
  /// The neurons of each rank, of those that are kept; of experts, of one. Empty: one process.
  RankCut neurons_of_ranks;

  [[nodiscard]] bool is_delta() const noexcept { return !delta.gates.empty(); }
  /// Zeros of the gate and of down_proj's input are left out
  /// (model/forward/sparse_down.hpp).
  [[nodiscard]] bool skips_zeros() const noexcept { return up_proj.num_tiles != 0; }
  [[nodiscard]] bool has_experts() const noexcept { return experts.count != 0; }
  /// Neurons of the feed-forward part that are kept, on this rank; of experts, those that a token
  /// meets.
  [[nodiscard]] std::size_t num_neurons() const noexcept {
    return has_experts() ? experts.used * experts.neurons : gate_up_proj.parts[0].rows;
  }
  /// The same on all ranks together: what down_proj reads of a token.
  [[nodiscard]] std::size_t all_neurons() const noexcept {
    return has_experts() ? experts.used * experts.all_neurons : down_proj.cols;
  }
};

/// Rows of the embedding or the output head, in the file's format.
struct DenseMatrix {
  quant::WeightFormat format = quant::WeightFormat::kF16;
  std::size_t rows = 0, cols = 0, row_bytes = 0;
  const std::byte* data = nullptr;  // (rows, cols), in the mapped file or in `copy`
  AlignedBuffer<std::byte> copy;    // see MoveToMemory

  [[nodiscard]] const std::byte* row(std::size_t i) const noexcept { return data + i * row_bytes; }
};

struct Weights {
  std::shared_ptr<const kernels::Kernels> kernels;  // never null after Load
  RankShares shares;                                // of several processes; usually all
  DenseMatrix embedding;                            // (vocab_size, hidden_size)
  std::vector<LayerWeights> layers;
  std::vector<float> final_norm;  // (hidden_size), over StreamScales::logits
  DenseMatrix lm_head;            // (vocab_size, hidden_size), or this rank's rows of it;
                                  // the embedding where tied
  /// Beside lm_head; never null, may be empty. A pass may make it (ScreenedHead::stage).
  std::unique_ptr<ScreenedHead> screened_head = std::make_unique<ScreenedHead>();
  HadamardRotation rotation;            // of embedding, projections and head; usually empty
  std::vector<double> inv_freq;         // (head_dim / 2): RoPE's angle per position
  std::vector<double> window_inv_freq;  // the same of windowed layers, where it differs; else empty
  bool has_groups = false;              // some matrix is grouped()
  /// Speed of tables across tokens beside multiply-adds, for batches (kernels::VlutOps::gain).
  double vlut_gain = 0, grouped_vlut_gain = 0;

  /// Binds every tensor, checks shape, format, codes and scales, and repacks the ternary ones,
  /// letting their mapped pages go. Errors: kCorruptFile, kUnsupported, kOutOfMemory; they name
  /// the tensor, what was expected and what was found.
  [[nodiscard]] static Result<Weights> Load(const formats::Checkpoint& checkpoint,
                                            const ModelConfig& config, RankShares shares,
                                            ThreadPool& pool, Decisions* decisions,
                                            const LoadOptions& options);
};

}  // namespace bittern::model
