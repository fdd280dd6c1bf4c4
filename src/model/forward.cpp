// SPDX-License-Identifier: Apache-2.0
// A batch of tokens through the whole network. Every thread runs this code; the steps share
// their work out and meet at barriers.
#include "model/attention.hpp"
#include "model/block.hpp"
#include "model/context.hpp"
#include "model/head.hpp"
#include "model/model.hpp"
#include "model/trace_step.hpp"

namespace bittern::model {

namespace {

/// Whether the pass ends before `layer`: all threads are told the same.
bool Abandoned(const Context& context, int layer) {
  ForwardState::Impl& state = context.state;
  if (state.watcher == nullptr || context.few()) return false;
  context.team.BarrierThen([&] { state.abandoned = !(*state.watcher)(layer); });
  return state.abandoned;
}

/// Everything before the head: hidden states of the batch, keys and values in the cache. False if
/// the pass was abandoned.
bool RunLayers(const Context& context, std::span<const std::int32_t> tokens) {
  EmbedTokens(context, tokens);
  TraceShares(context, nullptr, TracePoint::kEmbedding);
  ComputeRopeAngles(context);
  for (int layer = 0; layer < context.config.num_layers; ++layer) {
    if (Abandoned(context, layer)) return false;
    RunBlock(context, layer);
  }
  return true;
}

void Begin(std::size_t num_tokens, ForwardState::Impl* state) {
  state->abandoned = false;
  state->failures.assign(num_tokens, std::nullopt);  // within its capacity
}

/// Batches that end soon enough to compare team sizes by them go to as many threads as pay.
void RunPass(ThreadPool& pool, std::size_t num_tokens, const std::function<void(Team&)>& task) {
  if (num_tokens > kFewTokens) return pool.Run(task);
  pool.RunAdaptive(static_cast<std::uint32_t>(num_tokens), task);
}

}  // namespace

bool Forward(const Model& model, std::span<const std::int32_t> tokens, KvCache& cache,
             ForwardState& state, ThreadPool& pool, LogitsRows rows, std::span<float> logits) {
  Begin(tokens.size(), &state.impl());
  RunPass(pool, tokens.size(), [&](Team& team) {
    const Context context{model.config(), model.weights(), cache, state.impl(),
                          tokens.size(),  cache.length(),  team};
    if (!RunLayers(context, tokens) || rows == LogitsRows::kNone) return;
    const std::size_t count = rows == LogitsRows::kAll ? tokens.size() : 1;
    ComputeLogits(context, tokens.size() - count, count, logits.data());
    TraceLogits(context, tokens.size() - count, count, logits.data());
  });
  if (state.impl().abandoned) return false;
  cache.Extend(static_cast<int>(tokens.size()));
  return true;
}

bool ForwardCandidates(const Model& model, std::span<const std::int32_t> tokens, KvCache& cache,
                       ForwardState& state, ThreadPool& pool, const CandidateRequest& request,
                       std::span<CandidateLogits> out) {
  Begin(tokens.size(), &state.impl());
  RunPass(pool, tokens.size(), [&](Team& team) {
    const Context context{model.config(), model.weights(), cache, state.impl(),
                          tokens.size(),  cache.length(),  team};
    if (!RunLayers(context, tokens)) return;
    NormForHead(context, tokens.size() - out.size(), out.size());
    FindCandidates(context, state.impl().normed.data(), out.size(), request, out.data());
  });
  if (state.impl().abandoned) return false;
  cache.Extend(static_cast<int>(tokens.size()));
  return true;
}

SkipStats SkipStatsOf(ForwardState& state) noexcept {
  SkipStats total;
  for (const auto& thread : state.impl().threads) total.Add(thread.skips);
  return total;
}

ScreenStats ScreenStatsOf(ForwardState& state) noexcept {
  ScreenStats total;
  for (const auto& thread : state.impl().screen.threads) {
    total.tokens += thread.stats.tokens;
    total.rows += thread.stats.rows;
    total.tiles_of_bits += thread.stats.tiles_of_bits;
    total.after_5_bits += thread.stats.after_5_bits;
    total.after_7_bits += thread.stats.after_7_bits;
  }
  return total;
}

}  // namespace bittern::model
