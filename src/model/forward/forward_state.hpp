// SPDX-License-Identifier: Apache-2.0
// The scratch memory of a forward pass, shape by shape. N is the tokens of a batch at most.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/memory/aligned_buffer.hpp"
#include "kernels/kernel.h"
#include "model/batch.hpp"
#include "model/forward/find_candidates.hpp"
#include "model/forward/rows.hpp"
#include "model/model.hpp"
#include "model/row_failure.hpp"
#include "model/skip_stats.hpp"
#include "model/trace.hpp"

namespace bittern::model {

/// Tiles of 16 rows that a batch takes at once by tables (kernels::VlutOps), whose sums then stay
/// in the second-level cache; and of those, tiles that are made from another layout first. More
/// than a thread's share of a matrix are never made at once, but for kSmallestPiece.
inline constexpr std::size_t kMostTableTiles = 112, kMostMadeTiles = 60, kSmallestPiece = 16;

/// Tiles of a matrix with scales of groups. The first number stays in the cache for all tokens of a
/// batch. The second is taken at once by tables; sums and scales stay in the second-level cache.
inline constexpr std::size_t kGroupedTiles = 4, kMostGroupedTiles = 64;

/// Tokens whose tables a lookup kernel's batch keeps at once.
inline constexpr std::size_t kLutTokens = 8;

/// Tokens that have chosen an expert, side by side, for tables (LookUpTokens).
struct GatheredTokens {
  AlignedBuffer<std::int8_t> panels;  // (kVlutTokens digits, widest input)
  AlignedBuffer<float> scales;        // (kVlutTokens, groups of the widest input)
  AlignedBuffer<float> products;      // (kVlutTokens, 16 kMostGroupedTiles)
};

/// Memory that one thread needs for itself.
struct ThreadScratch {
  AlignedBuffer<std::int8_t> row;  // (widest input padded to 128): before it joins a panel
  AlignedBuffer<float> normed;     // (widest input padded): a row before quantisation
  AlignedBuffer<float> rotated;    // (widest input), where weights are rotated
  AlignedBuffer<float> scales;     // of kMostGroupedTiles tiles, where some matrix has groups
  AlignedBuffer<kernels::GroupedToken> grouped;  // (N): tokens that meet tiles of such a matrix
  GatheredTokens gathered;                       // where such a matrix is of experts, for batches
  AlignedBuffer<std::uint8_t> codes;             // gemm's decoded weight tiles, or VlutScratch
  AlignedBuffer<std::int32_t> sums;       // (N, 32): gemm's output of two tiles; or gemv's, of
                                          // a few tokens; or (32, 1792): of tables
  AlignedBuffer<std::uint8_t> tables;     // (kLutTokens, tables of the widest input): lookup
  AlignedBuffer<float> attention;         // kernels::AttentionScratch
  AlignedBuffer<std::uint8_t> tiles;      // Tile16 tiles of the widest input, made by gemm from
                                          // other layouts
  AlignedBuffer<std::uint32_t> live;      // (intermediate_size, and 16): what is not zero
                                          // for all of a few tokens
  AlignedBuffer<std::int32_t> live_sums;  // (intermediate_size): of live rows of up_proj
  AlignedBuffer<float> live_up;           // (intermediate_size): rows of up_proj, zero where dead
  SkipStats skips;
  AlignedBuffer<std::int32_t> partial;    // (few tokens, padded rows of down_proj): this thread's
                                          // columns
  AlignedBuffer<float> dense_row;         // (hidden_size): one row of a quantised head
  AlignedBuffer<std::uint16_t> half_row;  // (2, head_dim): a key and a value
};

/// The place of a row of the batch.
struct BatchRow {
  std::size_t segment;   // index in the batch
  std::size_t position;  // in its sequence
};

/// A row whose logits are wanted.
struct HeadRow {
  std::size_t token;       // row of the batch
  const Segment* segment;  // what is wanted of it
  std::size_t index;       // in the segment's logits or candidates
};

/// Rows of one segment whose attention is one call of the kernel: some query heads of one key-value
/// head, of neighbouring tokens.
struct AttentionItem {
  std::size_t first_token, num_tokens;
  std::size_t first_query, num_queries;
};

/// The choices of an expert in a pass: MixtureState::choices [first, first + count).
struct ExpertLoad {
  std::uint32_t expert, first, count;
};

/// The experts that the tokens of a pass have chosen in a layer. Choice i: of token i / used, rank
/// i % used.
struct MixtureState {
  std::vector<std::uint32_t> experts;  // (N used): of each choice
  std::vector<float> weights;          // (N used)
  std::vector<ExpertLoad> loads;       // of experts that are chosen, in their order
  std::vector<std::uint32_t> choices;  // (N used): those of an expert side by side
  std::vector<std::uint32_t> ends;     // (experts): while they are sorted

  [[nodiscard]] std::span<const std::uint32_t> ChoicesOf(const ExpertLoad& load) const noexcept {
    return std::span(choices).subspan(load.first, load.count);
  }
};

/// A batch and the memory of its pass, made by one thread before the pass and only read by the
/// team.
struct ForwardState::Impl {
  std::vector<BatchRow> rows;            // (tokens of the batch)
  std::vector<HeadRow> dense_rows;       // all logits are wanted
  std::vector<HeadRow> screened_rows;    // some logits are wanted
  std::vector<HeadRow> chosen_rows;      // logits of the segment's ids are wanted
  std::vector<HeadRow> hidden_rows;      // the final norm is wanted, and no logits
  std::vector<AttentionItem> attention;  // dealt out in this order in every layer

  int max_tokens = 0;
  const PassWatcher* watcher = nullptr;
  bool abandoned = false;    // by the watcher, in this pass; written while all threads wait
  Tracer* tracer = nullptr;  // sees every step (trace_step.hpp); usually null
  std::vector<AlignedBuffer<float>> float_memory;  // of the rows that follow
  FloatRows hidden;                                // (N, hidden_size): the residual stream
  FloatRows normed;         // (N, hidden_size or intermediate_size): for the head and tracers
  FloatRows qkv;            // (N, rows of qkv_proj)
  FloatRows attended;       // (N, q_size or value_size of delta layers)
  FloatRows mixed;          // (N, mix_size), where there are delta layers
  FloatRows delta_gates;    // (N, 2 value_heads): decays, then rates
  FloatRows gate_up;        // (N, rows of gate_up_proj)
  FloatRows up;             // (N, rows of up_proj), where zeros are skipped
  FloatRows projected;      // (N, rows of o_proj or down_proj)
  FloatRows router_input;   // (N, hidden_size), where there are experts
  FloatRows router_scores;  // (N, experts)
  FloatRows expert_out;     // (N, used hidden_size): of each token's experts by rank
  MixtureState mixture;
  FloatRows cosine, sine;                // (N, head_dim / 2)
  FloatRows window_cosine, window_sine;  // the same of windowed layers, where it differs
  AlignedBuffer<float> scores;           // (heads, positions padded to 16): of one token
  AlignedBuffer<float> mixes;            // (blocks of positions, heads, head_dim padded to 16)
  QuantizedActivations activations;
  LiveInputs live_inputs;
  ScreenScratch screen;
  std::vector<ThreadScratch> threads;

  /// Memory for what ranks send each other, where the network is shared out.
  struct Exchanged {
    std::vector<std::size_t> sizes;     // bytes, by rank
    std::vector<float> sent, received;  // as large as any exchange was
    FloatRows product;                  // (N, neurons of all ranks): down_proj's input
    FloatRows traced;                   // (N, widest of q, k, v together and neurons): for tracers
    std::vector<float> logits;          // of the rows wanted, of this rank's part
    std::vector<std::uint8_t> broken;   // of each screened row
  } exchanged;
  int max_positions = 0;
  std::size_t screen_vectors = 0;

  std::vector<std::optional<RowFailure>> failures;  // of each token of the last pass
};

}  // namespace bittern::model
