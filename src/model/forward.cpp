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

void Forward(const Model& model, std::span<const std::int32_t> tokens, KvCache& cache,
             ForwardState& state, ThreadPool& pool, LogitsRows rows, std::span<float> logits) {
  pool.Run([&](Team& team) {
    const Context context{model.config(), model.weights(), cache, state.impl(),
                          tokens.size(),  cache.length(),  team};
    EmbedTokens(context, tokens);
    TraceStep(context, nullptr, TracePoint::kEmbedding);
    ComputeRopeAngles(context);
    for (int layer = 0; layer < model.config().num_layers; ++layer) RunBlock(context, layer);
    if (rows == LogitsRows::kNone) return;
    const std::size_t count = rows == LogitsRows::kAll ? tokens.size() : 1;
    ComputeLogits(context, tokens.size() - count, count, logits.data());
    TraceLogits(context, tokens.size() - count, count, logits.data());
  });
  cache.Extend(static_cast<int>(tokens.size()));
}

}  // namespace bittern::model
