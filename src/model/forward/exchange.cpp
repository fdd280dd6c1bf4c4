// SPDX-License-Identifier: Apache-2.0
// Rows are packed rank by rank, token by token, so that one call moves all of them. One thread
// packs, calls and unpacks while the others wait: a pass of one token moves some kilobytes, one of
// many tokens is long beside it.
#include "model/forward/exchange.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "model/ranks/packed.hpp"

namespace bittern::model {
namespace {

std::size_t SizeOf(const Range& part) { return part.end - part.begin; }

/// Copies the runs of a token's row between a rank's packed values and the whole row.
template <class Copy>
void ForRuns(std::span<const Range> parts, std::size_t rank, std::size_t repeats,
             const Copy& copy) {
  const std::size_t size = SizeOf(parts[rank]), all = parts.back().end;
  for (std::size_t k = 0; k < repeats; ++k) copy(k * size, k * all + parts[rank].begin, size);
}

/// `mine` holds this rank's part of each token's row, repeats * SizeOf(own part) floats side by
/// side. All ranks' parts arrive one rank behind the other and are spread over `whole`, where part
/// r of repeat k begins at k * (size of all parts) + parts[r].begin. A rank's own part travels too:
/// one path for all of them.
void GatherRows(const Context& context, FloatRows mine, FloatRows whole,
                std::span<const Range> parts, std::size_t repeats, RankStep step) {
  const RankShares& shares = context.weights.shares;
  ForwardState::Impl::Exchanged& memory = context.state.exchanged;
  const std::size_t tokens = context.num_tokens;
  std::size_t total = 0;
  for (std::size_t r = 0; r < parts.size(); ++r) {
    const std::size_t floats = tokens * repeats * SizeOf(parts[r]);
    memory.sizes[r] = floats * sizeof(float);
    total += floats;
  }
  const auto here = static_cast<std::size_t>(shares.rank());
  const std::size_t own = repeats * SizeOf(parts[here]);
  memory.sent.resize(std::max(memory.sent.size(), tokens * own));
  memory.received.resize(std::max(memory.received.size(), total));
  for (std::size_t t = 0; t < tokens; ++t) {
    std::memcpy(memory.sent.data() + t * own, mine.row(t), own * sizeof(float));
  }
  shares.ranks->GatherToAll(reinterpret_cast<const std::byte*>(memory.sent.data()), memory.sizes,
                            reinterpret_cast<std::byte*>(memory.received.data()), step);
  const float* from = memory.received.data();
  for (std::size_t r = 0; r < parts.size(); ++r) {
    for (std::size_t t = 0; t < tokens; ++t) {
      ForRuns(parts, r, repeats, [&](std::size_t packed, std::size_t place, std::size_t size) {
        std::memcpy(whole.row(t) + place, from + packed, size * sizeof(float));
      });
      from += repeats * SizeOf(parts[r]);
    }
  }
}

/// The parts that ranks have of query heads or key-value heads, in values.
std::vector<Range> HeadParts(const Context& context, bool queries) {
  std::vector<Range> parts;
  const RankShares& shares = context.weights.shares;
  const auto dim = static_cast<std::size_t>(context.config.head_dim);
  for (int r = 0; r < shares.ranks->size(); ++r) {
    ModelConfig config = context.config;
    config.heads_here = HeadsOf(shares.heads, r);
    const HeadShare heads = config.HeadsHere();
    const auto first = static_cast<std::size_t>(queries ? heads.first : heads.first_kv);
    const auto count = static_cast<std::size_t>(queries ? heads.heads : heads.kv_heads);
    parts.push_back({first * dim, (first + count) * dim});
  }
  return parts;
}

/// The runs of heads, each as many as there are key heads, of a delta layer's values.
std::size_t ValueRuns(const Context& context) {
  const DeltaShape& shape = context.config.delta;
  return static_cast<std::size_t>(shape.value_heads / shape.key_heads);
}

/// For a tracer: a delta layer's mix and gate, or its mix alone behind the convolution. Both lie in
/// runs of heads.
void ExchangeMix(const Context& context, const LayerWeights& layer, TracePoint point) {
  const ForwardState::Impl& state = context.state;
  const std::span<const Range> parts = context.weights.shares.delta_rows.parts();
  const std::size_t runs = ValueRuns(context);
  const FloatRows whole = state.exchanged.traced;
  if (point == TracePoint::kRope)
    return Exchange(context, RankStep::kOther, state.mixed, whole, parts, 2 + runs);
  Exchange(context, RankStep::kOther, state.qkv, whole, parts, 2 + runs);
  const FloatRows gate{state.qkv.data + layer.qkv_proj.parts[1].first_row, state.qkv.stride};
  const std::size_t behind = (2 + runs) * parts.back().end;
  Exchange(context, RankStep::kOther, gate, {whole.data + behind, whole.stride}, parts, runs);
}

/// A failure as a number that is the smaller the earlier it was.
std::uint32_t Place(const std::optional<RowFailure>& failure) {
  if (!failure) return std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(failure->layer + 1) << 8 |
         static_cast<std::uint32_t>(failure->point);
}

/// This rank's candidates of all rows, as CollectCandidates sends them.
PackedWriter PackCandidates(const Context& context, std::span<const HeadRow> wanted,
                            std::span<const std::uint8_t> broken) {
  const RankShares& shares = context.weights.shares;
  const auto first = static_cast<std::int32_t>(shares.vocab.Of(shares.rank()).begin);
  PackedWriter out;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    CandidateLogits& found = wanted[i].segment->candidates[wanted[i].index];
    for (std::int32_t& id : found.ids) id += first;
    out.Value(broken[i]);
    out.List(std::span<const std::int32_t>(found.ids));
    out.List(std::span<const float>(found.logits));
  }
  return out;
}

/// Ranks hold rows of the vocabulary in ascending order. Joined rank by rank, candidates stand in
/// the order in which one process finds them. A row that is broken on any rank is broken.
void UnpackCandidates(std::span<const HeadRow> wanted, std::span<const std::byte> bytes,
                      int num_ranks) {
  std::vector<bool> broken(wanted.size());
  for (const HeadRow& row : wanted) row.segment->candidates[row.index] = {};
  PackedReader in(bytes);
  for (int r = 0; r < num_ranks; ++r) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      CandidateLogits& found = wanted[i].segment->candidates[wanted[i].index];
      if (in.Value<std::uint8_t>() != 0) broken[i] = true;
      const auto ids = in.List<std::int32_t>();
      const auto logits = in.List<float>();
      found.ids.insert(found.ids.end(), ids.begin(), ids.end());
      found.logits.insert(found.logits.end(), logits.begin(), logits.end());
    }
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (broken[i]) wanted[i].segment->candidates[wanted[i].index] = {};
  }
}

/// Rows of floats of different lengths by rank, to rank 0: take(rank, floats) there.
template <class Take>
void CollectFloats(const Context& context, std::span<const float> mine, const Take& take) {
  Ranks& ranks = *context.weights.shares.ranks;
  std::vector<std::size_t> sizes;
  const std::vector<std::byte> all =
      CollectBytes(ranks, std::as_bytes(mine), &sizes, RankStep::kHead);
  if (!ranks.leads()) return;
  const auto* from = reinterpret_cast<const float*>(all.data());
  for (int r = 0; r < ranks.size(); ++r) {
    take(r, from);
    from += sizes[static_cast<std::size_t>(r)] / sizeof(float);
  }
}

}  // namespace

FloatRows PartHere(const Context& context, FloatRows whole, const RankCut& cut) {
  const RankShares& shares = context.weights.shares;
  if (!shares.shared()) return whole;
  return {whole.data + cut.Of(shares.rank()).begin, whole.stride};
}

/// The barrier before it ends all writes to `mine`, the one behind it lets all threads read
/// `whole`.
void Exchange(const Context& context, RankStep step, FloatRows mine, FloatRows whole,
              std::span<const Range> parts, std::size_t repeats) {
  if (!context.weights.shares.shared()) return;
  context.team.BarrierThen([&] { GatherRows(context, mine, whole, parts, repeats, step); });
}

void ExchangeHeads(const Context& context, FloatRows mine, FloatRows whole) {
  if (!context.weights.shares.shared()) return;
  Exchange(context, RankStep::kHeads, mine, whole, context.weights.shares.head_values.parts());
}

void ExchangeDelta(const Context& context, FloatRows whole) {
  const RankShares& shares = context.weights.shares;
  if (!shares.shared()) return;
  Exchange(context, RankStep::kHeads, whole, whole, shares.delta_rows.parts(), ValueRuns(context));
}

/// Without a tracer these values stay where they are made: each rank needs its own heads and
/// neurons only. A tracer of rank 0 wants rows as one process has them.
void ExchangeForTracer(const Context& context, const LayerWeights* layer, TracePoint point) {
  if (!context.weights.shares.shared()) return;
  const ForwardState::Impl& state = context.state;
  const FloatRows whole = state.exchanged.traced;
  if (point == TracePoint::kGate) {
    const std::size_t runs = layer->has_experts() ? layer->experts.used : 1;
    return Exchange(context, RankStep::kOther, state.gate_up, whole,
                    layer->neurons_of_ranks.parts(), runs);
  }
  if (point != TracePoint::kQkvProj && point != TracePoint::kRope) return;
  if (layer->is_delta()) return ExchangeMix(context, *layer, point);
  const std::vector<Range> queries = HeadParts(context, true), keys = HeadParts(context, false);
  float* to = whole.data;
  for (std::size_t i = 0; i < layer->qkv_proj.parts.size(); ++i) {
    const auto& parts = i == 0 || i == 3 ? queries : keys;
    const FloatRows mine{state.qkv.data + layer->qkv_proj.parts[i].first_row, state.qkv.stride};
    Exchange(context, RankStep::kOther, mine, {to, whole.stride}, parts);
    to += parts.back().end;
  }
}

/// All ranks must stop at the same row, or the next exchange would wait for ever. The earliest
/// failure of any rank is the one that one process would have met.
void ExchangeFailures(const Context& context) {
  const RankShares& shares = context.weights.shares;
  if (!shares.shared()) return;
  context.team.BarrierThen([&] {
    auto& failures = context.state.failures;
    const auto count = static_cast<std::size_t>(shares.ranks->size());
    std::vector<std::uint32_t> mine, all(failures.size() * count);
    for (const auto& failure : failures) mine.push_back(Place(failure));
    const std::vector<std::size_t> sizes(count, mine.size() * sizeof(std::uint32_t));
    shares.ranks->GatherToAll(reinterpret_cast<const std::byte*>(mine.data()), sizes,
                              reinterpret_cast<std::byte*>(all.data()));
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::uint32_t place = all[i];
      auto& failure = failures[i % failures.size()];
      if (place >= Place(failure)) continue;
      failure = RowFailure{static_cast<int>(place >> 8) - 1, static_cast<TracePoint>(place & 255)};
    }
  });
}

/// Rank 0 alone chooses tokens, so logits go there and nowhere else.
void CollectLogits(const Context& context, std::span<const HeadRow> wanted, const float* mine) {
  const RankShares& shares = context.weights.shares;
  context.team.BarrierThen([&] {
    const auto vocab = static_cast<std::size_t>(context.config.vocab_size);
    const std::size_t own = SizeOf(shares.vocab.Of(shares.rank()));
    CollectFloats(context, {mine, wanted.size() * own}, [&](int rank, const float* from) {
      const Range part = shares.vocab.Of(rank);
      for (const HeadRow& row : wanted) {
        std::copy_n(from, SizeOf(part),
                    row.segment->logits.data() + row.index * vocab + part.begin);
        from += SizeOf(part);
      }
    });
  });
}

void CollectCandidates(const Context& context, std::span<const HeadRow> wanted,
                       std::span<const std::uint8_t> broken) {
  context.team.BarrierThen([&] {
    Ranks& ranks = *context.weights.shares.ranks;
    std::vector<std::size_t> sizes;
    const PackedWriter mine = PackCandidates(context, wanted, broken);
    const auto all = CollectBytes(ranks, mine.bytes(), &sizes, RankStep::kHead);
    if (ranks.leads()) UnpackCandidates(wanted, all, ranks.size());
  });
}

void CollectChosen(const Context& context, std::span<const HeadRow> wanted,
                   std::span<const float> mine) {
  const RankShares& shares = context.weights.shares;
  context.team.BarrierThen([&] {
    CollectFloats(context, mine, [&](int rank, const float* from) {
      for (const HeadRow& row : wanted) {
        const Range ids = IdsOfRank(shares.vocab, rank, row.segment->ids);
        std::copy_n(from, SizeOf(ids),
                    row.segment->candidates[row.index].logits.data() + ids.begin);
        from += SizeOf(ids);
      }
    });
  });
}

Range IdsOfRank(const RankCut& vocab, int rank, std::span<const std::int32_t> ids) {
  const Range part = vocab.Of(rank);
  const auto place = [&](std::size_t id) {
    const auto at = std::ranges::lower_bound(ids, static_cast<std::int32_t>(id));
    return static_cast<std::size_t>(at - ids.begin());
  };
  return {place(part.begin), place(part.end)};
}

}  // namespace bittern::model
