// SPDX-License-Identifier: Apache-2.0
#include "model/forward_state.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/kernel.h"
#include "model/weights.hpp"
#include "quant/tile16.hpp"

namespace bittern::model {
namespace {

/// Sizes that several buffers share.
struct Shapes {
  std::size_t tokens, padded_tokens, widest_input, positions;
  MatrixLayout layout;
};

std::size_t PaddedCols(int cols) {
  return quant::BlocksOfCols(static_cast<std::size_t>(cols)) * quant::kTileBlock;
}

/// Bytes of one token's tables for a lookup layout; 0 for tile16.
std::size_t TableBytes(MatrixLayout layout, std::size_t cols) {
  if (layout == MatrixLayout::kTile16) return 0;
  const std::size_t of_step =
      layout == MatrixLayout::kTl1 ? kernels::kTl1TableBytes : kernels::kTl2TableBytes;
  return quant::LutSteps(LutKindOf(layout), cols) * of_step;
}

Result<ThreadScratch> CreateScratch(const ModelConfig& c, const Shapes& shapes,
                                    std::size_t widest_output) {
  const std::string what = "a thread's scratch memory";
  const auto hidden = static_cast<std::size_t>(c.hidden_size);
  const auto head_dim = static_cast<std::size_t>(c.head_dim);
  ThreadScratch s;
  // A lookup kernel's last step may reach past the padding of Tile16.
  const std::size_t past = quant::LutStepCols(quant::LutKind::kTl2);
  s.row = BITTERN_TRY(AlignedBuffer<std::int8_t>::Create(shapes.widest_input + past, what));
  s.tables = BITTERN_TRY(AlignedBuffer<std::uint8_t>::Create(
      std::max<std::size_t>(1, kLutTokens * TableBytes(shapes.layout, shapes.widest_input)), what));
  s.codes = BITTERN_TRY(AlignedBuffer<std::uint8_t>::Create(
      kernels::kGemmTiles * quant::kTileRows * shapes.widest_input, what));
  s.sums = BITTERN_TRY(AlignedBuffer<std::int32_t>::Create(
      std::max(shapes.tokens * kernels::kGemmTiles * quant::kTileRows, widest_output), what));
  s.attention = BITTERN_TRY(
      AlignedBuffer<float>::Create(kernels::AttentionScratch(shapes.positions, head_dim), what));
  s.dense_row = BITTERN_TRY(AlignedBuffer<float>::Create(hidden, what));
  s.half_row = BITTERN_TRY(AlignedBuffer<std::uint16_t>::Create(2 * head_dim, what));
  return s;
}

}  // namespace

Result<ForwardState> ForwardState::Create(const Model& model, int max_tokens, int max_positions,
                                          int num_threads) {
  if (max_tokens < 1 || max_positions < 1 || num_threads < 1) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("batch size, context length and threads must be at least 1, got {}, "
                            "{} and {}",
                            max_tokens, max_positions, num_threads));
  }
  const ModelConfig& c = model.config();
  const LayerWeights& layer = model.weights().layers.front();
  const auto tokens = static_cast<std::size_t>(max_tokens);
  const std::size_t widest_input = std::max(
      {PaddedCols(c.hidden_size), PaddedCols(c.intermediate_size), PaddedCols(c.q_size())});
  const Shapes shapes{
      tokens, (tokens + kernels::kPanelTokens - 1) / kernels::kPanelTokens * kernels::kPanelTokens,
      widest_input, static_cast<std::size_t>(max_positions), layer.qkv_proj.layout};

  auto impl = std::make_unique<Impl>();
  impl->max_tokens = max_tokens;
  const auto floats = [&](std::size_t per_token) {
    return AlignedBuffer<float>::Create(tokens * per_token,
                                        fmt::format("the activations of {} tokens", max_tokens));
  };
  const auto hidden = static_cast<std::size_t>(c.hidden_size);
  const auto half = static_cast<std::size_t>(c.head_dim / 2);
  const std::size_t projected = std::max(layer.o_proj.padded_rows(), layer.down_proj.padded_rows());
  impl->hidden = BITTERN_TRY(floats(hidden));
  impl->normed = BITTERN_TRY(floats(widest_input));
  impl->qkv = BITTERN_TRY(floats(layer.qkv_proj.padded_rows()));
  impl->attended = BITTERN_TRY(floats(static_cast<std::size_t>(c.q_size())));
  impl->gate_up = BITTERN_TRY(floats(layer.gate_up_proj.padded_rows()));
  impl->projected = BITTERN_TRY(floats(projected));
  impl->cosine = BITTERN_TRY(floats(half));
  impl->sine = BITTERN_TRY(floats(half));
  QuantizedActivations& acts = impl->activations;
  acts.values = BITTERN_TRY(AlignedBuffer<std::int8_t>::Create(shapes.padded_tokens * widest_input,
                                                               "quantised activations"));
  acts.scales = BITTERN_TRY(AlignedBuffer<float>::Create(tokens, "activation scales"));
  acts.sums = BITTERN_TRY(AlignedBuffer<std::int32_t>::Create(tokens, "activation sums"));
  if (model.weights().has_groups) {
    acts.groups = widest_input / kernels::kGroupCols;
    acts.group_sums = BITTERN_TRY(
        AlignedBuffer<std::int32_t>::Create(tokens * acts.groups, "activation sums of groups"));
    acts.group_scales = BITTERN_TRY(
        AlignedBuffer<float>::Create(tokens * acts.groups, "activation scales of groups"));
  }
  impl->screen = BITTERN_TRY(ScreenScratch::Create(model.weights().screened_head, num_threads));
  const std::size_t widest_output =
      std::max({layer.qkv_proj.padded_rows(), layer.gate_up_proj.padded_rows(), projected});
  for (int i = 0; i < num_threads; ++i) {
    impl->threads.push_back(BITTERN_TRY(CreateScratch(c, shapes, widest_output)));
  }
  return ForwardState(std::move(impl));
}

ForwardState::ForwardState(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ForwardState::ForwardState(ForwardState&&) noexcept = default;
ForwardState& ForwardState::operator=(ForwardState&&) noexcept = default;
ForwardState::~ForwardState() = default;

void ForwardState::SetTracer(Tracer* tracer) noexcept { impl_->tracer = tracer; }

}  // namespace bittern::model
