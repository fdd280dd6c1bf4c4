// SPDX-License-Identifier: Apache-2.0
// Ranks that share a network out meet here in a pass: each has computed a part of every row, and
// all need the whole rows. In a single process these do nothing.
#pragma once

#include <span>

#include "model/forward/context.hpp"

namespace bittern::model {

/// The part of rows that this rank writes, [parts[rank].begin, ...) of each.
[[nodiscard]] FloatRows PartHere(const Context& context, FloatRows whole, const RankCut& cut);

/// Gathers the rows of the batch. A rank's own row has `repeats` runs of its part's size; in a
/// whole row each run is a part of a run of as many values as all parts together. `mine` may lie in
/// `whole`. On all threads; waits for what they have written, and ends like a barrier.
void Exchange(const Context& context, RankStep step, FloatRows mine, FloatRows whole,
              std::span<const Range> parts, std::size_t repeats = 1);

/// Exchange of what heads give: (N, q_size).
void ExchangeHeads(const Context& context, FloatRows mine, FloatRows whole);

/// Exchange of what the value heads of a delta layer give: (N, value_size). A rank's own values lie
/// at the front of its rows.
void ExchangeDelta(const Context& context, FloatRows whole);

/// Brings what only some ranks have computed of a layer's step together, for a tracer: q, k and v,
/// the mix and gate of a delta layer, or gates. As Exchange.
void ExchangeForTracer(const Context& context, const LayerWeights* layer, TracePoint point);

/// Lets all ranks know the tokens whose values are not finite.
void ExchangeFailures(const Context& context);

/// logits[i] of rows that are wanted, from the ranks' parts of it to rank 0's segments.
/// mine: (rows, this rank's part of the vocabulary).
void CollectLogits(const Context& context, std::span<const HeadRow> wanted, const float* mine);

/// The candidates of each row, from the ranks' own ones, whose ids count from the first of their
/// part. broken: of each row, whether a logit of this rank is not finite; then there are none.
void CollectCandidates(const Context& context, std::span<const HeadRow> wanted,
                       std::span<const std::uint8_t> broken);

/// Logits of the ids that segments name: a rank has those of its part.
void CollectChosen(const Context& context, std::span<const HeadRow> wanted,
                   std::span<const float> mine);

/// The ids of `ids` that lie in this rank's part of the vocabulary: a range of their places.
[[nodiscard]] Range IdsOfRank(const RankCut& vocab, int rank, std::span<const std::int32_t> ids);

}  // namespace bittern::model
