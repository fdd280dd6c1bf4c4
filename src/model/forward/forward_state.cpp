// SPDX-License-Identifier: Apache-2.0
// Sizes and allocates every buffer of a forward pass, so that a pass allocates nothing and cannot
// fail. Sizes follow from the widest layer, the most tokens of a pass and the layouts of weights.
#include "model/forward/forward_state.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/sizes.h"
#include "model/weights.hpp"
#include "quant/layouts/skip_layouts.hpp"
#include "quant/layouts/tile16.hpp"

namespace bittern::model {
namespace {

/// Sizes that several buffers share.
struct Shapes {
  std::size_t tokens, widest_input, positions;
  std::size_t digits, padded_rows;  // of quantised activations: of a token; of all, padded
  std::size_t qkv_rows, gate_rows, up_rows, projected_rows;  // padded, of any layer
  std::size_t skipping_rows;                                 // of down_proj; 0: nothing is skipped
  std::size_t threads;
  MatrixLayout layout;
  bool tile48;  // some matrix has it
};

/// Fills in the sizes that depend on the weights' layouts.
void AddRows(const std::vector<LayerWeights>& layers, Shapes* shapes) {
  const auto raise = [](std::size_t* size, std::size_t to) { *size = std::max(*size, to); };
  for (const LayerWeights& layer : layers) {
    for (const TernaryMatrix* matrix :
         {&layer.qkv_proj, &layer.o_proj, &layer.gate_up_proj, &layer.down_proj}) {
      shapes->tile48 |= matrix->layout == MatrixLayout::kTile48;
    }
    raise(&shapes->qkv_rows, layer.qkv_proj.padded_rows());
    raise(&shapes->projected_rows, layer.o_proj.padded_rows());
    if (layer.has_experts()) {
      raise(&shapes->gate_rows, 2 * layer.num_neurons());
      continue;
    }
    raise(&shapes->gate_rows, layer.gate_up_proj.padded_rows());
    raise(&shapes->projected_rows, layer.down_proj.padded_rows());
    if (!layer.skips_zeros()) continue;
    raise(&shapes->up_rows, layer.up_proj.padded_rows());
    raise(&shapes->skipping_rows, layer.down_proj.padded_rows());
  }
}

std::size_t PaddedCols(int cols) {
  return quant::BlocksOfCols(static_cast<std::size_t>(cols)) * quant::kTileBlock;
}

/// Digits of 16-bit activations are rows of their own, so a token counts twice in a panel.
Shapes ShapesOf(const Model& model, std::size_t tokens, std::size_t positions,
                std::size_t threads) {
  const ModelConfig& c = model.config();
  constexpr std::size_t kPanel = kernels::kPanelTokens;
  Shapes shapes{};
  shapes.tokens = tokens;
  shapes.threads = threads;
  shapes.digits = c.activation_bits > 8 ? 2 : 1;
  shapes.padded_rows = (tokens * shapes.digits + kPanel - 1) / kPanel * kPanel;
  shapes.widest_input = std::max({PaddedCols(c.hidden_size), PaddedCols(c.intermediate_size),
                                  PaddedCols(c.q_size()), PaddedCols(c.delta.value_size())});
  shapes.positions = positions;
  shapes.layout = model.weights().layers.front().qkv_proj.layout;
  AddRows(model.weights().layers, &shapes);
  const RankShares& shares = model.weights().shares;
  if (!shares.shared()) return shapes;
  // A part lies behind the others', and behind it the padding of its last tile.
  shapes.projected_rows = std::max(shapes.projected_rows + shares.hidden.Of(shares.rank()).begin,
                                   static_cast<std::size_t>(c.hidden_size));
  return shapes;
}

/// Bytes of one token's tables for a lookup layout; 0 for tile16.
std::size_t TableBytes(MatrixLayout layout, std::size_t cols) {
  if (!IsLut(layout)) return 0;
  const std::size_t of_step =
      layout == MatrixLayout::kTl1 ? kernels::kTl1TableBytes : kernels::kTl2TableBytes;
  return quant::LutSteps(LutKindOf(layout), cols) * of_step;
}

/// Tiles that a thread makes from another layout at a time: a piece by tables is never more than
/// its share of a matrix (gemm.cpp), and a panel of columns has 16.
std::size_t MadeTiles(const Shapes& shapes) {
  const std::size_t rows =
      std::max({shapes.qkv_rows, shapes.gate_rows, shapes.up_rows, shapes.projected_rows});
  const std::size_t share = rows / quant::kTileRows / shapes.threads + kSmallestPiece;
  return std::min(kMostMadeTiles, share);
}

/// Tokens of a batch that have chosen one expert lie apart; a thread brings them together here, as
/// many as tables take at a time.
Result<GatheredTokens> CreateGathered(const Shapes& shapes) {
  const std::string what = "the tokens of an expert";
  constexpr std::size_t kTokens = kernels::kVlutTokens;
  GatheredTokens g;
  g.panels = BITTERN_TRY(
      AlignedBuffer<std::int8_t>::Create(kTokens * shapes.digits * shapes.widest_input, what));
  g.scales = BITTERN_TRY(
      AlignedBuffer<float>::Create(kTokens * shapes.widest_input / kernels::kGroupCols, what));
  g.products = BITTERN_TRY(
      AlignedBuffer<float>::Create(kTokens * kMostGroupedTiles * quant::kTileRows, what));
  return g;
}

/// A thread's own memory: tables, decoded tiles, sums, scores. Parts that this model or this size
/// of batch cannot reach stay empty.
Result<ThreadScratch> CreateScratch(const ModelConfig& c, const Shapes& shapes,
                                    std::size_t widest_output, const Weights& weights) {
  const std::string what = "a thread's scratch memory";
  const auto hidden = static_cast<std::size_t>(c.hidden_size);
  const auto head_dim = static_cast<std::size_t>(c.head_dim);
  ThreadScratch s;
  const std::size_t few = std::min(shapes.tokens, kFewTokens);
  const bool batches = shapes.tokens * shapes.digits > kFewTokens;
  // A lookup kernel's last step may reach past the padding of Tile16.
  const std::size_t past = quant::LutStepCols(quant::LutKind::kTl2);
  s.row = BITTERN_TRY(
      AlignedBuffer<std::int8_t>::Create(shapes.digits * shapes.widest_input + past, what));
  s.normed = BITTERN_TRY(AlignedBuffer<float>::Create(shapes.widest_input, what));
  if (weights.has_groups) {
    const std::size_t groups = shapes.widest_input / kernels::kGroupCols;
    s.scales = BITTERN_TRY(AlignedBuffer<float>::Create(
        (batches ? kMostGroupedTiles : kGroupedTiles) * groups * quant::kTileRows, what));
    s.grouped = BITTERN_TRY(AlignedBuffer<kernels::GroupedToken>::Create(shapes.tokens, what));
    if (batches && c.experts.count != 0) s.gathered = BITTERN_TRY(CreateGathered(shapes));
  }
  if (!weights.rotation.empty()) {
    s.rotated = BITTERN_TRY(AlignedBuffer<float>::Create(shapes.widest_input, what));
  }
  s.tables = BITTERN_TRY(AlignedBuffer<std::uint8_t>::Create(
      std::max<std::size_t>(1, kLutTokens * TableBytes(shapes.layout, shapes.widest_input)), what));
  s.codes = BITTERN_TRY(AlignedBuffer<std::uint8_t>::Create(
      std::max(kernels::kGemmTiles * quant::kTileRows * shapes.widest_input,
               batches ? kernels::VlutScratch(kMostTableTiles) : 0),
      what));
  s.sums = BITTERN_TRY(AlignedBuffer<std::int32_t>::Create(
      std::max({shapes.tokens * kernels::kGemmTiles * quant::kTileRows, few * widest_output,
                batches ? kernels::kVlutTokens * kMostTableTiles * quant::kTileRows : 0}),
      what));
  s.attention = BITTERN_TRY(AlignedBuffer<float>::Create(
      kernels::AttentionScratch(shapes.positions + kernels::kMostAttentionRows, head_dim), what));
  if (shapes.skipping_rows != 0 || shapes.tile48) {
    s.tiles = BITTERN_TRY(AlignedBuffer<std::uint8_t>::Create(
        MadeTiles(shapes) * quant::TileBytes(shapes.widest_input), what));
  }
  if (shapes.skipping_rows != 0) {
    s.live = BITTERN_TRY(AlignedBuffer<std::uint32_t>::Create(shapes.widest_input + 16, what));
    s.live_sums = BITTERN_TRY(AlignedBuffer<std::int32_t>::Create(shapes.widest_input, what));
    s.live_up = BITTERN_TRY(AlignedBuffer<float>::Create(shapes.widest_input, what));
    s.partial = BITTERN_TRY(AlignedBuffer<std::int32_t>::Create(few * shapes.skipping_rows, what));
  }
  s.dense_row = BITTERN_TRY(AlignedBuffer<float>::Create(hidden, what));
  s.half_row = BITTERN_TRY(AlignedBuffer<std::uint16_t>::Create(2 * head_dim, what));
  return s;
}

/// Memory for the quantised activations of a pass. groups: some matrix wants scales of groups.
Result<QuantizedActivations> CreateActivations(const ModelConfig& c, const Shapes& shapes,
                                               bool groups) {
  const std::string what = "quantised activations";
  QuantizedActivations acts;
  acts.digits = shapes.digits;
  acts.values = BITTERN_TRY(
      AlignedBuffer<std::int8_t>::Create(shapes.padded_rows * shapes.widest_input, what));
  if (shapes.skipping_rows != 0) {
    acts.ordered = BITTERN_TRY(AlignedBuffer<std::int8_t>::Create(
        shapes.tokens * kernels::OrderedActs(PaddedCols(c.hidden_size) / quant::kTileBlock), what));
    if (shapes.tokens > kFewTokens) {
      acts.rows = BITTERN_TRY(
          AlignedBuffer<std::int8_t>::Create(shapes.tokens * shapes.widest_input, what));
    }
  }
  acts.scales = BITTERN_TRY(AlignedBuffer<float>::Create(shapes.tokens, "activation scales"));
  acts.sums = BITTERN_TRY(AlignedBuffer<std::int32_t>::Create(shapes.tokens, "activation sums"));
  if (!groups) return acts;
  acts.groups = shapes.widest_input / kernels::kGroupCols;
  const std::size_t of_rows = shapes.tokens * shapes.digits * acts.groups;
  acts.group_sums =
      BITTERN_TRY(AlignedBuffer<std::int32_t>::Create(of_rows, "activation sums of groups"));
  acts.group_scales =
      BITTERN_TRY(AlignedBuffer<float>::Create(of_rows, "activation scales of groups"));
  return acts;
}

/// Lists of the experts that tokens have chosen.
MixtureState CreateMixture(const ExpertShape& experts, std::size_t tokens) {
  const auto count = static_cast<std::size_t>(experts.count);
  const std::size_t choices = tokens * static_cast<std::size_t>(experts.used);
  MixtureState mixture;
  mixture.experts.resize(choices);
  mixture.weights.resize(choices);
  mixture.choices.resize(choices);
  mixture.ends.resize(count);
  mixture.loads.reserve(count);
  return mixture;
}

/// Lists of what is not zero, where zeros are skipped in batches.
Result<LiveInputs> CreateLiveInputs(const Shapes& shapes) {
  LiveInputs live;
  if (shapes.skipping_rows == 0 || shapes.tokens <= kFewTokens) return live;
  live.stride = shapes.widest_input + 16;
  live.columns = BITTERN_TRY(
      AlignedBuffer<std::uint32_t>::Create(shapes.tokens * live.stride, "lists of live neurons"));
  live.counts =
      BITTERN_TRY(AlignedBuffer<std::size_t>::Create(shapes.tokens, "numbers of live neurons"));
  return live;
}

}  // namespace

Result<ForwardState> ForwardState::Create(const Model& model, int max_tokens, int max_positions,
                                          int num_threads, std::size_t screen_vectors) {
  if (max_tokens < 1 || max_positions < 1 || num_threads < 1) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("batch size, context length and threads must be at least 1, got {}, "
                            "{} and {}",
                            max_tokens, max_positions, num_threads));
  }
  const ModelConfig& c = model.config();
  const auto tokens = static_cast<std::size_t>(max_tokens);
  const Shapes shapes = ShapesOf(model, tokens, static_cast<std::size_t>(max_positions),
                                 static_cast<std::size_t>(num_threads));
  auto impl = std::make_unique<Impl>();
  impl->max_tokens = max_tokens;
  impl->max_positions = max_positions;
  impl->screen_vectors = screen_vectors;
  const auto rows = [&](std::size_t stride) -> Result<FloatRows> {
    impl->float_memory.push_back(BITTERN_TRY(AlignedBuffer<float>::Create(
        tokens * stride, fmt::format("the activations of {} tokens", max_tokens))));
    return FloatRows{impl->float_memory.back().data(), stride};
  };
  const auto hidden = static_cast<std::size_t>(c.hidden_size);
  const auto half = static_cast<std::size_t>(c.rotated_dim / 2);
  impl->hidden = BITTERN_TRY(rows(hidden));
  impl->normed = BITTERN_TRY(rows(shapes.widest_input));
  impl->qkv = BITTERN_TRY(rows(shapes.qkv_rows));
  impl->attended =
      BITTERN_TRY(rows(static_cast<std::size_t>(std::max(c.q_size(), c.delta.value_size()))));
  if (c.num_delta_layers() != 0) {
    const DeltaShape delta = c.DeltaHere();
    impl->mixed = BITTERN_TRY(rows(static_cast<std::size_t>(delta.mix_size())));
    impl->delta_gates = BITTERN_TRY(rows(2 * static_cast<std::size_t>(delta.value_heads)));
  }
  if (c.experts.count != 0) {
    impl->router_input = BITTERN_TRY(rows(hidden));
    impl->router_scores = BITTERN_TRY(rows(static_cast<std::size_t>(c.experts.count)));
    impl->expert_out = BITTERN_TRY(rows(static_cast<std::size_t>(c.experts.used) * hidden));
    impl->mixture = CreateMixture(c.experts, tokens);
  }
  impl->gate_up = BITTERN_TRY(rows(shapes.gate_rows));
  if (shapes.up_rows != 0) impl->up = BITTERN_TRY(rows(shapes.up_rows));
  impl->projected = BITTERN_TRY(rows(shapes.projected_rows));
  if (const RankShares& shares = model.weights().shares; shares.shared()) {
    const auto inner = static_cast<std::size_t>(c.intermediate_size);
    const auto of_heads = static_cast<std::size_t>(2 * c.q_size() + 2 * c.kv_size());
    impl->exchanged.sizes.resize(static_cast<std::size_t>(shares.ranks->size()));
    impl->exchanged.product = BITTERN_TRY(rows(inner));
    const auto of_delta = static_cast<std::size_t>(c.delta.mix_size() + c.delta.value_size());
    impl->exchanged.traced = BITTERN_TRY(rows(std::max({inner, of_heads, of_delta})));
  }
  const std::size_t heads = static_cast<std::size_t>(c.num_heads);
  const std::size_t blocks =
      (shapes.positions + kernels::kAttentionBlock - 1) / kernels::kAttentionBlock;
  impl->scores = BITTERN_TRY(AlignedBuffer<float>::Create(
      heads * (shapes.positions + 15) / 16 * 16 + heads * 16, "attention scores"));
  impl->mixes = BITTERN_TRY(AlignedBuffer<float>::Create(
      blocks * heads * ((static_cast<std::size_t>(c.head_dim) + 15) / 16 * 16), "attention sums"));
  impl->cosine = BITTERN_TRY(rows(half));
  impl->sine = BITTERN_TRY(rows(half));
  if (!model.weights().window_inv_freq.empty()) {
    impl->window_cosine = BITTERN_TRY(rows(half));
    impl->window_sine = BITTERN_TRY(rows(half));
  }
  impl->activations = BITTERN_TRY(CreateActivations(c, shapes, model.weights().has_groups));
  impl->live_inputs = BITTERN_TRY(CreateLiveInputs(shapes));
  impl->screen = BITTERN_TRY(ScreenScratch::Create(*model.weights().screened_head,
                                                   std::min(tokens, screen_vectors), num_threads));
  const std::size_t widest_output =
      std::max({shapes.qkv_rows, shapes.gate_rows, shapes.up_rows, shapes.projected_rows});
  for (int i = 0; i < num_threads; ++i) {
    impl->threads.push_back(BITTERN_TRY(CreateScratch(c, shapes, widest_output, model.weights())));
  }
  return ForwardState(std::move(impl));
}

ForwardState::ForwardState(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {
  impl_->failures.reserve(static_cast<std::size_t>(impl_->max_tokens));
}
ForwardState::ForwardState(ForwardState&&) noexcept = default;
ForwardState& ForwardState::operator=(ForwardState&&) noexcept = default;
ForwardState::~ForwardState() = default;

std::span<const std::optional<RowFailure>> ForwardState::failures() const noexcept {
  return impl_->failures;
}

void ForwardState::SetTracer(Tracer* tracer) noexcept { impl_->tracer = tracer; }
void ForwardState::SetWatcher(const PassWatcher* watcher) noexcept { impl_->watcher = watcher; }

}  // namespace bittern::model
