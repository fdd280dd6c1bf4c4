// SPDX-License-Identifier: Apache-2.0
// A batch of tokens through the whole network. Every thread runs this code; the steps share
// their work out and meet at barriers.
#include "model/forward/attention.hpp"
#include "model/forward/block.hpp"
#include "model/forward/context.hpp"
#include "model/forward/exchange.hpp"
#include "model/forward/head.hpp"
#include "model/forward/trace_step.hpp"
#include "model/model.hpp"
#include "model/rank_leader.hpp"

namespace bittern::model {

namespace {

/// Whether the pass ends before `layer`: all threads are told the same.
bool Abandoned(const Context& context, int layer) {
  ForwardState::Impl& state = context.state;
  if (state.watcher == nullptr || context.num_tokens <= kFewTokens) return false;
  context.team.BarrierThen([&] {
    state.abandoned = !(*state.watcher)(layer);
    const RankShares& shares = context.weights.shares;
    if (shares.shared())
      shares.ranks->Broadcast(std::as_writable_bytes(std::span(&state.abandoned, 1)));
  });
  return state.abandoned;
}

/// Everything before the head: hidden states of the batch, keys and values in the pages. False if
/// the pass was abandoned.
bool RunLayers(const Context& context) {
  EmbedTokens(context);
  TraceShares(context, nullptr, TracePoint::kEmbedding);
  ComputeRopeAngles(context);
  for (int layer = 0; layer < context.config.num_layers; ++layer) {
    if (Abandoned(context, layer)) return false;
    RunBlock(context, layer);
  }
  if (!context.weights.layers.front().q_norm.empty()) ExchangeFailures(context);
  return true;
}

/// Tells each row of the batch where it belongs, and lists the rows whose logits are wanted.
/// Returns the number of rows.
std::size_t PlanRows(std::span<const Segment> segments, ForwardState::Impl* state) {
  state->rows.clear();
  state->dense_rows.clear();
  state->screened_rows.clear();
  state->chosen_rows.clear();
  state->hidden_rows.clear();
  for (std::size_t s = 0; s < segments.size(); ++s) {
    const Segment& segment = segments[s];
    const std::size_t first = state->rows.size(), count = segment.tokens.size();
    for (std::size_t i = 0; i < count; ++i) {
      state->rows.push_back({s, static_cast<std::size_t>(segment.sequence->length()) + i});
    }
    auto& wanted = !segment.hidden.empty() ? state->hidden_rows
                   : !segment.ids.empty()  ? state->chosen_rows
                   : segment.request       ? state->screened_rows
                                           : state->dense_rows;
    for (std::size_t i = 0; i < segment.rows; ++i) {
      wanted.push_back({first + count - segment.rows + i, &segment, i});
    }
  }
  return state->rows.size();
}

/// Batches that end soon enough to compare team sizes by them go to as many threads as pay.
void RunPass(ThreadPool& pool, std::size_t num_tokens, std::size_t num_segments,
             const std::function<void(Team&)>& task) {
  if (num_tokens > kFewTokens) return pool.Run(task);
  pool.RunAdaptive(static_cast<std::uint32_t>(num_tokens + 16 * (num_segments - 1)), task);
}

}  // namespace

bool Forward(const Model& model, std::span<const Segment> segments, ForwardState& state,
             ThreadPool& pool) {
  ForwardState::Impl& impl = state.impl();
  impl.abandoned = false;
  const auto lead = model.Lead(segments, {.max_tokens = impl.max_tokens,
                                          .max_positions = impl.max_positions,
                                          .screen_vectors = impl.screen_vectors,
                                          .num_threads = pool.size(),
                                          .traced = impl.tracer != nullptr,
                                          .watched = impl.watcher != nullptr});
  const std::size_t num_tokens = PlanRows(segments, &impl);
  impl.failures.assign(num_tokens, std::nullopt);  // within its capacity
  PlanAttention(model.config(), segments, static_cast<std::size_t>(pool.size()), &impl.attention);
  RunPass(pool, num_tokens, segments.size(), [&](Team& team) {
    const Context context{model.config(), model.weights(), segments, impl, num_tokens, team};
    if (RunLayers(context)) ComputeLogits(context);
  });
  if (impl.abandoned) {
    // Some layers have moved the states on: back to those that were kept.
    for (const Segment& segment : segments) {
      if (segment.sequence->recurrent()) segment.sequence->GoBack();
    }
    return false;
  }
  for (const Segment& segment : segments) {
    segment.sequence->Extend(static_cast<int>(segment.tokens.size()));
  }
  return true;
}

SkipStats SkipStatsOf(const ForwardState& state) noexcept {
  SkipStats total;
  for (const auto& thread : state.impl().threads) total.Add(thread.skips);
  return total;
}

ScreenStats ScreenStatsOf(const ForwardState& state) noexcept {
  ScreenStats total;
  for (const auto& thread : state.impl().screen.threads) {
    total.tokens += thread.stats.tokens;
    total.rows += thread.stats.rows;
    total.tiles_of_bits += thread.stats.tiles_of_bits;
    total.tokens_of_8_bits += thread.stats.tokens_of_8_bits;
    total.after_5_bits += thread.stats.after_5_bits;
    total.after_7_bits += thread.stats.after_7_bits;
  }
  return total;
}

}  // namespace bittern::model
