// SPDX-License-Identifier: Apache-2.0
// Binds tensors to layers. For each projection: find it, check its shape, open its codes, choose a
// layout, repack. Matrices that read the same input (q, k, v; gate, up) are stacked into one. The
// mapped pages of a tensor are let go once it is copied. Called by one thread; repacking uses the
// pool.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <initializer_list>

#include "formats/convert/row_order.hpp"
#include "kernels/registry.hpp"
#include "model/load/dead_neurons.hpp"
#include "model/load/load_head.hpp"
#include "model/load/read_rotation.hpp"
#include "model/load/repack.hpp"
#include "model/load/rope_frequencies.hpp"
#include "model/load/tensor_binder.hpp"
#include "model/load/unused_tensors.hpp"
#include "model/load/weight_arena.hpp"
#include "model/load/weight_binding.hpp"
#include "model/weights.hpp"

namespace bittern::model {
namespace {

using formats::TensorId;

/// A ternary projection of a layer: its tensor, beside which files of architecture bitnet sometimes
/// have a one-element ".scale".
struct Projection {
  TensorId id;
  std::span<const std::uint32_t> rows_kept = {}, columns_kept = {};  ///< StackPart's
  bool ordered = false;  ///< rows_kept puts the rows of heads into the order that rotates halves
};

/// The settings that the layers are loaded with.
struct Loader {
  TensorBinder& binder;
  formats::TernaryOpener& opener;
  const ModelConfig& config;
  ThreadPool& pool;
  MatrixLayout layout;          ///< grouped_layout from the first matrix on that wants it
  MatrixLayout grouped_layout;  ///< of matrices whose scales differ along a row
  bool skip_zeros;
  HugeArena& arena;
  const RankShares& shares;
};

using RowList = std::vector<std::uint32_t>;

/// The rows of a part of `count` matrices of `rows` each, which lie one after the other. Empty, all
/// of them, where one process has all.
RowList RowsOfPart(const RankShares& shares, const RankCut& cut, std::size_t rows,
                   std::size_t count = 1) {
  RowList list;
  if (!shares.shared()) return list;
  const Range part = cut.Of(shares.rank());
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t r = part.begin; r < part.end; ++r) {
      list.push_back(static_cast<std::uint32_t>(i * rows + r));
    }
  }
  return list;
}

Result<StackPart> OpenPart(Loader& loader, int layer, const Projection& projection) {
  const formats::Tensor* tensor =
      BITTERN_TRY(BindTernary(loader.binder, loader.config, projection.id, layer));
  const bool permuted =
      loader.config.permuted_qk && !projection.ordered && formats::HasRowOrder(tensor->name);
  auto source = BITTERN_TRY(loader.opener.Open(*tensor));
  return StackPart{tensor,
                   std::move(source),
                   permuted ? static_cast<std::size_t>(loader.config.head_dim) : 0,
                   projection.rows_kept,
                   projection.columns_kept,
                   loader.shares.ranks};
}

/// fixed: the layout, whatever was chosen.
Result<TernaryMatrix> LoadStack(Loader& loader, int layer,
                                std::initializer_list<Projection> projections,
                                std::optional<MatrixLayout> fixed = {}) {
  std::vector<StackPart> parts;
  for (const Projection& projection : projections) {
    parts.push_back(BITTERN_TRY(OpenPart(loader, layer, projection)));
  }
  const auto stack = [&](MatrixLayout layout) {
    return StackTernary(parts, layout, loader.config.grouped_activations, loader.pool,
                        loader.arena);
  };
  auto matrix = BITTERN_TRY(stack(fixed.value_or(loader.layout)));
  if (!fixed && matrix.grouped() && matrix.layout != loader.grouped_layout) {
    loader.layout = loader.grouped_layout;  // here and in what follows
    matrix = BITTERN_TRY(stack(loader.layout));
  }
  for (const StackPart& part : parts) loader.binder.checkpoint().Release(*part.tensor);
  return matrix;
}

/// This rank's neurons among those that are kept (none: all), after setting which rank has which.
RowList NeuronsHere(const Loader& loader, const RowList& kept, std::size_t all,
                    LayerWeights* layer) {
  const RankShares& shares = loader.shares;
  if (!shares.shared()) return {};
  layer->neurons_of_ranks = CutNeurons(kept.empty() ? all : kept.size(), *shares.ranks);
  RowList rows = RowsOfPart(shares, layer->neurons_of_ranks, 0);
  for (std::uint32_t& row : rows) row = kept.empty() ? row : kept[row];
  return rows;
}

/// gate_proj, up_proj and down_proj, each in the layout from which its zeros can be left out.
Result<void> LoadSkipping(Loader& loader, int index, LayerWeights* layer) {
  Projection gate{TensorId::kFfnGate}, up{TensorId::kFfnUp}, down{TensorId::kFfnDown};
  const StackPart gate_part = BITTERN_TRY(OpenPart(loader, index, gate));
  const auto dead = ZeroRows(gate_part.source, loader.pool);
  RowList kept = KeptNeurons(dead);
  if (loader.shares.shared() && CutNeurons(kept.size(), *loader.shares.ranks).has_empty()) {
    kept.clear();  // every rank has some
  }
  const RowList here = NeuronsHere(loader, kept, dead.size(), layer);
  const RowList hidden = RowsOfPart(loader.shares, loader.shares.hidden, 0);
  gate.rows_kept = up.rows_kept = loader.shares.shared() ? here : kept;
  down.rows_kept = hidden;
  down.columns_kept = kept;
  layer->gate_up_proj = BITTERN_TRY(LoadStack(loader, index, {gate}));
  layer->up_proj = BITTERN_TRY(LoadStack(loader, index, {up}, MatrixLayout::kRows));
  layer->down_proj = BITTERN_TRY(LoadStack(loader, index, {down}, MatrixLayout::kColumns));
  layer->neurons = std::move(kept);
  return {};
}

/// Leaves the norm the weights of the neurons that are kept.
void KeepNormOfNeurons(LayerWeights* layer) {
  if (layer->neurons.empty() || layer->ffn_sub_norm.empty()) return;
  std::vector<float> kept;
  for (const std::uint32_t neuron : layer->neurons) kept.push_back(layer->ffn_sub_norm[neuron]);
  layer->ffn_sub_norm = std::move(kept);
}

/// The experts of a layer, one after the other in matrices of the same kind as a single network's.
Result<void> LoadExperts(Loader& loader, int index, LayerWeights* layer) {
  const ExpertShape& shape = loader.config.experts;
  ExpertWeights& experts = layer->experts;
  experts.router =
      BITTERN_TRY(BindFloats(loader.binder, loader.config, TensorId::kFfnRouter, index));
  experts.count = static_cast<std::size_t>(shape.count);
  experts.used = static_cast<std::size_t>(shape.used);
  experts.neurons = experts.all_neurons = static_cast<std::size_t>(shape.neurons);
  experts.clamp = shape.clamps[static_cast<std::size_t>(index)];
  const RankShares& shares = loader.shares;
  if (shares.shared()) {
    const Range part = shares.expert.Of(shares.rank());
    experts.neurons = part.end - part.begin;
    layer->neurons_of_ranks = shares.expert;
  }
  const auto hidden = static_cast<std::size_t>(loader.config.hidden_size);
  const RowList up_rows = RowsOfPart(shares, shares.expert, experts.all_neurons, experts.count);
  const RowList down_rows = RowsOfPart(shares, shares.hidden, hidden, experts.count);
  // An expert's rows are whole tiles of 16.
  const MatrixLayout layout = IsLut(loader.layout) ? loader.layout : MatrixLayout::kTile16;
  layer->gate_up_proj = BITTERN_TRY(LoadStack(
      loader, index, {{TensorId::kFfnGateExps, up_rows}, {TensorId::kFfnUpExps, up_rows}}, layout));
  layer->down_proj =
      BITTERN_TRY(LoadStack(loader, index, {{TensorId::kFfnDownExps, down_rows}}, layout));
  return {};
}

Result<void> LoadFeedForward(Loader& loader, int index, LayerWeights* layer) {
  if (loader.config.traits->experts) return LoadExperts(loader, index, layer);
  if (loader.skip_zeros) {
    const auto done = LoadSkipping(loader, index, layer);
    // Only whole-row scales fit those layouts; what differs along a row is multiplied densely.
    if (done && !layer->gate_up_proj.grouped()) {
      KeepNormOfNeurons(layer);
      return {};
    }
    if (!done && done.error().code != ErrorCode::kUnsupported) return done;
    layer->up_proj = {};
    layer->neurons.clear();
  }
  const RowList here =
      NeuronsHere(loader, {}, static_cast<std::size_t>(loader.config.intermediate_size), layer);
  const RowList hidden = RowsOfPart(loader.shares, loader.shares.hidden, 0);
  layer->gate_up_proj =
      BITTERN_TRY(LoadStack(loader, index, {{TensorId::kFfnGate, here}, {TensorId::kFfnUp, here}}));
  if (loader.config.input_norms) layer->gate_up_parts = PartsOf(layer->gate_up_proj);
  layer->down_proj = BITTERN_TRY(LoadStack(loader, index, {{TensorId::kFfnDown, hidden}}));
  return {};
}

/// The rows of attn_q that are queries (`gate` 0) or their gates (1), of this rank's heads: head by
/// head, the queries first.
RowList QueryRows(const ModelConfig& c, std::uint32_t gate) {
  const auto dim = static_cast<std::uint32_t>(c.head_dim);
  const HeadShare heads = c.HeadsHere();
  RowList rows;
  for (int head = heads.first; head < heads.first + heads.heads; ++head) {
    for (std::uint32_t i = 0; i < dim; ++i) {
      rows.push_back((2 * static_cast<std::uint32_t>(head) + gate) * dim + i);
    }
  }
  return rows;
}

/// The rows of some heads of q, k (`turned`) or v, in the order that rotates halves. Empty, all of
/// them, where one process has all.
RowList HeadRows(const Loader& loader, int first, int count, bool turned) {
  RowList rows;
  if (!loader.shares.shared()) return rows;
  const auto dim = static_cast<std::uint32_t>(loader.config.head_dim);
  const bool permuted = turned && loader.config.permuted_qk;
  const std::uint32_t begin = static_cast<std::uint32_t>(first) * dim;
  for (std::uint32_t row = begin; row < begin + static_cast<std::uint32_t>(count) * dim; ++row) {
    const std::uint32_t in_head = row % dim, half = dim / 2;
    const std::uint32_t from = in_head < half ? 2 * in_head : 2 * (in_head - half) + 1;
    rows.push_back(permuted ? row - in_head + from : row);
  }
  return rows;
}

Result<void> LoadAttention(Loader& loader, int index, LayerWeights* layer) {
  const HeadShare heads = loader.config.HeadsHere();
  RowList query_rows = HeadRows(loader, heads.first, heads.heads, true), gate_rows;
  const RowList key_rows = HeadRows(loader, heads.first_kv, heads.kv_heads, true);
  const RowList value_rows = HeadRows(loader, heads.first_kv, heads.kv_heads, false);
  const RowList hidden = RowsOfPart(loader.shares, loader.shares.hidden, 0);
  if (loader.config.traits->delta_layers) {
    query_rows = QueryRows(loader.config, 0);
    gate_rows = QueryRows(loader.config, 1);
  }
  const bool shared = loader.shares.shared();
  const Projection query{TensorId::kAttnQ, query_rows, {}, shared},
      gate{TensorId::kAttnQ, gate_rows};
  const Projection key{TensorId::kAttnK, key_rows, {}, shared}, value{TensorId::kAttnV, value_rows};
  layer->qkv_proj =
      BITTERN_TRY(gate_rows.empty() ? LoadStack(loader, index, {query, key, value})
                                    : LoadStack(loader, index, {query, key, value, gate}));
  if (loader.config.input_norms) layer->qkv_parts = PartsOf(layer->qkv_proj);
  layer->o_proj = BITTERN_TRY(LoadStack(loader, index, {{TensorId::kAttnOutput, hidden}}));
  return {};
}

/// Runs of `unit` rows for each key head: this rank's part of each run from `first` to `end`.
/// Empty, all of them, where one process has all.
RowList DeltaRows(const Loader& loader, std::size_t unit, std::size_t first, std::size_t end) {
  const RankShares& shares = loader.shares;
  const auto keys = static_cast<std::size_t>(loader.config.delta.key_heads);
  RowList rows;
  if (!shares.shared()) return rows;
  const Range part = shares.delta_keys.Of(shares.rank());
  for (std::size_t run = first; run < end; ++run) {
    for (std::size_t i = part.begin * unit; i < part.end * unit; ++i) {
      rows.push_back(static_cast<std::uint32_t>(run * keys * unit + i));
    }
  }
  return rows;
}

/// Some rows of a matrix of floats; all of them where `rows` is empty.
std::vector<float> PickRows(std::vector<float> values, std::size_t cols, const RowList& rows) {
  if (rows.empty()) return values;
  std::vector<float> picked;
  for (const std::size_t row : rows) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(row * cols);
    picked.insert(picked.end(), begin, begin + static_cast<std::ptrdiff_t>(cols));
  }
  return picked;
}

Result<void> LoadDelta(Loader& loader, int index, LayerWeights* layer) {
  const DeltaShape& shape = loader.config.delta;
  const auto dim = static_cast<std::size_t>(shape.head_dim);
  const auto hidden = static_cast<std::size_t>(loader.config.hidden_size);
  const auto runs = static_cast<std::size_t>(shape.value_heads / shape.key_heads);
  const RowList heads = DeltaRows(loader, 1, 0, runs);
  const RowList mix = DeltaRows(loader, dim, 0, 2 + runs);  // queries, keys, values
  const RowList values = DeltaRows(loader, dim, 0, runs);
  const auto floats = [&](TensorId id, std::size_t cols,
                          const RowList& rows) -> Result<std::vector<float>> {
    auto all = BITTERN_TRY(BindFloats(loader.binder, loader.config, id, index));
    return PickRows(std::move(all), cols, rows);
  };
  DeltaWeights& delta = layer->delta;
  delta.gates = BITTERN_TRY(floats(TensorId::kSsmBeta, hidden, heads));
  const auto steps = BITTERN_TRY(floats(TensorId::kSsmAlpha, hidden, heads));
  delta.gates.insert(delta.gates.end(), steps.begin(), steps.end());
  const auto taps = static_cast<std::size_t>(shape.taps);
  const auto conv = BITTERN_TRY(floats(TensorId::kSsmConv, taps, mix));  // (mix_size, taps)
  delta.conv.resize(conv.size());
  for (std::size_t i = 0; i < conv.size(); ++i) {
    delta.conv[i % taps * (conv.size() / taps) + i / taps] = conv[i];
  }
  delta.query_unit.assign(dim, 1 / static_cast<float>(dim));
  delta.key_unit.assign(dim, 1 / std::sqrt(static_cast<float>(dim)));
  delta.step_bias = BITTERN_TRY(floats(TensorId::kSsmDt, 1, heads));
  delta.decay_scale = BITTERN_TRY(floats(TensorId::kSsmA, 1, heads));
  const auto grows = std::ranges::find_if(delta.decay_scale, [](float a) { return a > 0; });
  if (grows != delta.decay_scale.end()) {
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("{}: element {} is {}, expected at most 0 (a state that decays)",
                            TensorPrefix(formats::TensorName(TensorId::kSsmA, index)),
                            grows - delta.decay_scale.begin(), *grows));
  }
  layer->qkv_proj = BITTERN_TRY(
      LoadStack(loader, index, {{TensorId::kAttnQkv, mix}, {TensorId::kAttnGate, values}}));
  const RowList out = RowsOfPart(loader.shares, loader.shares.hidden, 0);
  layer->o_proj = BITTERN_TRY(LoadStack(loader, index, {{TensorId::kSsmOut, out}}));
  return {};
}

Result<LayerWeights> LoadLayer(Loader& loader, int index) {
  LayerWeights layer;
  BITTERN_TRY(CheckLayerIsThere(loader.binder.checkpoint(), loader.config, index));
  BITTERN_TRY(BindNorms(loader.binder, loader.config, index, &layer));
  BITTERN_TRY(loader.config.IsDelta(index) ? LoadDelta(loader, index, &layer)
                                           : LoadAttention(loader, index, &layer));
  BITTERN_TRY(LoadFeedForward(loader, index, &layer));
  return layer;
}

bool HasGroups(const LayerWeights& layer) {
  return layer.qkv_proj.grouped() || layer.o_proj.grouped() || layer.gate_up_proj.grouped() ||
         layer.down_proj.grouped();
}

/// Squared ReLU makes zeros; the layouts for them take the place of Tile16.
bool SkipsZeros(const ModelConfig& c, const Weights& weights, const LoadOptions& options) {
  if (c.activation != Activation::kRelu2 || c.grouped_activations) return false;
  if (!weights.rotation.empty() || c.input_norms || c.traits->post_norms) return false;
  if (!IsTiled(options.layout.value_or(MatrixLayout::kTile16))) return false;
  if (options.zero_skip != SkipMode::kAuto) return options.zero_skip == SkipMode::kOn;
  return weights.kernels->sparse_info->isa != kernels::Isa::scalar;
}

/// For Weights::vlut_gain and grouped_vlut_gain: forced, measured, or known of kernels for one
/// instruction set.
double VlutGain(const kernels::Kernels& kernels, BatchKernel wanted, double measured, float known) {
  constexpr double kForced = 1e6;
  if (wanted != BatchKernel::kAuto) return wanted == BatchKernel::kVlut ? kForced : 0;
  if (measured > 0) return measured;
  const bool same = kernels.vlut_info->isa == kernels.tile16_info->isa;
  return same ? static_cast<double>(known) : 0;
}

/// Says how many neurons are not there.
void ReportDeadNeurons(const Weights& weights, const ModelConfig& c, Decisions* decisions) {
  const auto inner = static_cast<std::size_t>(c.intermediate_size);
  std::size_t left_out = 0;
  for (const LayerWeights& layer : weights.layers) left_out += inner - layer.all_neurons();
  if (left_out == 0) return;
  decisions->push_back({"dead neurons",
                        fmt::format("{} of {} left out", left_out, inner * weights.layers.size()),
                        "their gates have no weight other than 0", false, "zero_skip=off: kept"});
}

/// Says which of two lists of factors the rotation has, since other programs ask when it is run.
void ReportLongRope(const ModelConfig& c, Decisions* decisions) {
  if (c.rope_scaling.kind != RopeScaling::Kind::kLong) return;
  const bool is_long = c.context_length > c.rope_scaling.original_context;
  decisions->push_back(
      {"rotation", is_long ? "factors of a long context" : "factors of a short context",
       fmt::format("{}.context_length is {}, the original context {}", c.architecture,
                   c.context_length, c.rope_scaling.original_context),
       false, fmt::format("override_kv={}.context_length=int:N chooses", c.architecture)});
}

}  // namespace

Result<Weights> Weights::Load(const formats::Checkpoint& checkpoint, const ModelConfig& c,
                              RankShares shares, ThreadPool& pool, Decisions* decisions,
                              const LoadOptions& options) {
  TensorBinder binder(checkpoint);
  Weights weights;
  weights.shares = std::move(shares);
  weights.kernels =
      std::make_shared<kernels::Kernels>(BITTERN_TRY(kernels::SelectKernelsForced(options.isa)));
  const kernels::VlutOps& tables = weights.kernels->vlut();
  weights.vlut_gain =
      VlutGain(*weights.kernels, options.batch_kernel, options.vlut_gain, tables.gain);
  weights.grouped_vlut_gain = VlutGain(*weights.kernels, options.batch_kernel,
                                       options.grouped_vlut_gain, tables.grouped_gain);
  weights.rotation = BITTERN_TRY(ReadRotation(checkpoint, c, decisions));
  weights.embedding = BITTERN_TRY(LoadDense(binder, TensorId::kTokenEmbd, c, pool));
  weights.final_norm = BITTERN_TRY(BindNorm(binder, c, TensorId::kOutputNorm));
  for (float& weight : weights.final_norm) weight /= c.scales.logits;
  auto opener = BITTERN_TRY(formats::TernaryOpener::Create(checkpoint, decisions));
  BITTERN_TRY(LoadHead(binder, opener, c, options, pool, &weights, decisions));
  weights.inv_freq = BITTERN_TRY(RopeFrequencies(binder, c));
  if (c.window_theta != 0) {
    weights.window_inv_freq = PlainFrequencies(c.window_theta, c.rotated_dim);
  }
  ReportLongRope(c, decisions);
  HugeArena arena = ChooseArena(checkpoint, options, decisions);
  const MatrixLayout layout = options.layout.value_or(MatrixLayout::kTile16);
  Loader loader{.binder = binder,
                .opener = opener,
                .config = c,
                .pool = pool,
                .layout = layout,
                .grouped_layout = options.grouped_layout.value_or(layout),
                .skip_zeros = AllWant(weights.shares, SkipsZeros(c, weights, options)),
                .arena = arena,
                .shares = weights.shares};
  for (int i = 0; i < c.num_layers; ++i) {
    weights.layers.push_back(BITTERN_TRY(LoadLayer(loader, i)));
    BITTERN_TRY(arena.WriteOut());
    weights.has_groups = weights.has_groups || HasGroups(weights.layers.back());
    const double done = static_cast<double>(i + 2) / (c.num_layers + 1);
    if (options.on_progress && !options.on_progress(done)) {
      return Fail(ErrorCode::kCancelled, "cancelled while loading");
    }
  }
  ReportDeadNeurons(weights, c, decisions);
  BITTERN_TRY(ReportUnusedTensors(binder.Unused(), c, decisions));
  return weights;
}

}  // namespace bittern::model
