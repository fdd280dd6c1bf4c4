// SPDX-License-Identifier: Apache-2.0
// Rotation, the cache, and softmax attention over the pages of each sequence. A pass is cut into
// calls (PlanAttention) of one key-value head and some neighbouring tokens, which share its keys
// and values; threads take calls by Team::Deal. One token with a long past has too few heads for
// all threads, so its positions are shared out instead, with three more barriers (AttendSplit).
// Sums are made in blocks of 256 positions in both ways, so the cut changes no bit. All threads
// call Attend.
#include "model/forward/attention.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/portable_math.hpp"
#include "kernels/kernel.h"
#include "model/forward/exchange.hpp"
#include "model/forward/for_tokens.hpp"
#include "model/forward/linear.hpp"
#include "model/forward/trace_step.hpp"

namespace bittern::model {
namespace {

constexpr std::size_t kPositions = 16;  // positions that lie side by side in the key cache

std::size_t Size(int value) { return static_cast<std::size_t>(value); }

/// The place of a position of a sequence, counted from a head's block of page 0 of its pool.
std::size_t PlaceOf(const KvSequence& sequence, std::size_t position) {
  constexpr std::size_t kPage = kernels::kAttentionBlock;
  return sequence.blocks()[position / kPage] * kPage + position % kPage;
}

/// A layer's number among those with keys and values.
int LayerOf(const Context& context, int layer) { return context.config.KvLayersBefore(layer); }

/// Writes one token's key (a lane of a block of 16 positions) and value (a row) of one head.
template <class Element>
void Append(Element* keys, Element* values, std::size_t position, std::size_t dim,
            const Element* key, const Element* value) {
  Element* lane = keys + position / kPositions * kPositions * dim + position % kPositions;
  for (std::size_t d = 0; d < dim; ++d) lane[d * kPositions] = key[d];
  std::memcpy(values + position * ((dim + 15) / 16 * 16), value, dim * sizeof(Element));
}

void AppendToCache(const Context& context, int layer, int kv_head, std::size_t token,
                   const float* key, const float* value) {
  const std::size_t dim = Size(context.config.head_dim);
  const KvSequence& sequence = *context.segment(token).sequence;
  KvPool& pool = sequence.pool();
  const std::size_t position = PlaceOf(sequence, context.position(token));
  std::byte* keys = pool.keys(LayerOf(context, layer), kv_head);
  std::byte* values = pool.values(LayerOf(context, layer), kv_head);
  if (pool.type() == KvType::kF32) {
    Append(reinterpret_cast<float*>(keys), reinterpret_cast<float*>(values), position, dim, key,
           value);
  } else if (pool.type() == KvType::kF16) {
    std::uint16_t* half = context.scratch().half_row.data();  // key, then value
    context.floats().store_half(key, dim, half);
    context.floats().store_half(value, dim, half + dim);
    Append(reinterpret_cast<std::uint16_t*>(keys), reinterpret_cast<std::uint16_t*>(values),
           position, dim, half, half + dim);
  } else {
    auto* bytes = reinterpret_cast<std::int8_t*>(context.scratch().half_row.data());
    std::int32_t sum;
    pool.key_scales(LayerOf(context, layer), kv_head)[position] =
        1 / context.floats().quantize_absmax(key, dim, bytes, &sum);
    pool.value_scales(LayerOf(context, layer), kv_head)[position] =
        1 / context.floats().quantize_absmax(value, dim, bytes + dim, &sum);
    Append(reinterpret_cast<std::int8_t*>(keys), reinterpret_cast<std::int8_t*>(values), position,
           dim, bytes, bytes + dim);
  }
}

/// A head's RMS norm, where the network has one.
void NormHead(const Context& context, int layer, std::size_t token,
              const std::vector<float>& weight, float* head) {
  if (weight.empty()) return;
  if (!context.floats().rms_norm(head, weight.data(), weight.size(), weight.size(),
                                 context.config.rms_norm_eps, head)) {
    RecordFailure(context, token, {layer, TracePoint::kRope});
  }
}

/// A layer's attention and what it reads and writes.
struct Attention {
  const Context& context;
  const LayerWeights& weights;
  int layer;
  FloatRows qkv, attended;
  HeadShare heads = context.config.HeadsHere();
};

/// Positions of a token's sequence that its layer's attention passes over: whole pages in front of
/// the window. Pages are the blocks of its sums, so the cut changes no bit.
std::size_t PositionsPassedOver(const Attention& attention, std::size_t token) {
  const std::size_t window = Size(attention.context.config.WindowOf(attention.layer));
  const std::size_t positions = attention.context.position(token) + 1;
  if (window == 0 || window >= positions) return 0;
  return (positions - window) / kernels::kAttentionBlock * kernels::kAttentionBlock;
}

/// Norms and rotates one head in place, in the order of the network.
void TurnHead(const Attention& attention, std::size_t token, const std::vector<float>& norm,
              float* head) {
  const Context& context = attention.context;
  const ModelConfig& c = context.config;
  const std::size_t half = c.IsRotated(attention.layer) ? Size(c.rotated_dim) / 2 : 0;
  const bool own = c.window_theta != 0 && c.WindowOf(attention.layer) != 0;
  const float* cosine = (own ? context.state.window_cosine : context.state.cosine).row(token);
  const float* sine = (own ? context.state.window_sine : context.state.sine).row(token);
  const auto rotate = [&] { context.floats().rope(head, cosine, sine, half); };
  if (c.traits->rotates_first) rotate();
  NormHead(context, attention.layer, token, norm, head);
  if (!c.traits->rotates_first) rotate();
}

/// Rotates a token's query and key heads in place and puts keys and values into the cache.
void RotateAndAppend(const Attention& attention, std::size_t token) {
  const auto& [context, weights, layer, qkv, attended, heads] = attention;
  const ModelConfig& c = context.config;
  const TernaryMatrix& projection = weights.qkv_proj;
  const std::size_t dim = Size(c.head_dim);
  float* row = qkv.row(token);
  float* q = row + projection.parts[0].first_row;
  float* k = row + projection.parts[1].first_row;
  const float* v = row + projection.parts[2].first_row;
  for (std::size_t h = 0; h < Size(heads.heads); ++h) {
    TurnHead(attention, token, weights.q_norm, q + h * dim);
  }
  if (context.segment(token).sequence->pool().type() == KvType::kF16) {
    context.floats().round_half(q, Size(heads.heads) * dim);
  }
  for (int h = 0; h < heads.kv_heads; ++h) {
    float* key = k + Size(h) * dim;
    TurnHead(attention, token, weights.k_norm, key);
    AppendToCache(context, layer, h, token, key, v + Size(h) * dim);
  }
}

/// The gate of networks that have one, in place.
void GateToken(const Attention& attention, std::size_t token) {
  const auto& [context, weights, layer, qkv, attended, heads] = attention;
  const float* gate = qkv.row(token) + weights.qkv_proj.parts[3].first_row;
  float* row = attended.row(token);
  context.floats().sigmoid_mul(gate, row, Size(heads.heads * context.config.head_dim), row);
}

kernels::KvElement ElementOf(KvType type) {
  switch (type) {
    case KvType::kF32:
      return kernels::KvElement::kF32;
    case KvType::kI8:
      return kernels::KvElement::kI8;
    case KvType::kF16:
      break;
  }
  return kernels::KvElement::kF16;
}

kernels::AttentionArgs MakeArgs(const Attention& attention, const AttentionItem& item) {
  const auto& [context, weights, layer, qkv, attended, heads] = attention;
  const ModelConfig& c = context.config;
  const std::size_t dim = Size(c.head_dim);
  const int kv_head = heads.KvOf(static_cast<int>(item.first_query) / heads.group);
  const KvSequence& sequence = *context.segment(item.first_token).sequence;
  KvPool& pool = sequence.pool();
  const bool scaled = pool.type() == KvType::kI8;
  kernels::AttentionArgs args{};
  args.query_stride = qkv.stride;
  args.out_stride = attended.stride;
  args.queries =
      qkv.row(item.first_token) + weights.qkv_proj.parts[0].first_row + item.first_query * dim;
  args.out = attended.row(item.first_token) + item.first_query * dim;
  args.keys = pool.keys(LayerOf(context, layer), kv_head);
  args.values = pool.values(LayerOf(context, layer), kv_head);
  args.key_scales = scaled ? pool.key_scales(LayerOf(context, layer), kv_head) : nullptr;
  args.value_scales = scaled ? pool.value_scales(LayerOf(context, layer), kv_head) : nullptr;
  const std::size_t passed_over = PositionsPassedOver(attention, item.first_token);
  args.pages = sequence.blocks().data() + passed_over / kernels::kAttentionBlock;
  args.scratch = context.scratch().attention.data();
  args.num_tokens = item.num_tokens;
  args.num_queries = item.num_queries;
  args.head_dim = dim;
  args.num_positions = context.position(item.first_token) + 1 - passed_over;
  args.window = Size(c.WindowOf(layer));
  args.scale = 1.0f / std::sqrt(static_cast<float>(c.head_dim));
  args.element = ElementOf(pool.type());
  return args;
}

/// How the rows of a segment are cut into calls. The results do not depend on it.
struct Cut {
  std::size_t tokens;   // of a call, at most
  std::size_t queries;  // of a call: a divisor of the query heads of a key-value head
};

/// As many tokens at once as a call takes, since they share the widened keys and values; but at
/// least some `wanted` calls, if need be by parting the query heads too.
Cut CutSegment(const HeadShare& heads, std::size_t first_position, std::size_t num_tokens,
               std::size_t threads, std::size_t wanted) {
  const std::size_t groups = Size(heads.groups()), group = Size(heads.group);
  const auto calls = [&](std::size_t tokens, std::size_t queries) {
    return (num_tokens + tokens - 1) / tokens * groups * (group / queries);
  };
  const std::size_t rows = kernels::AttentionRows(first_position + num_tokens + 1);
  Cut cut{std::max<std::size_t>(1, rows / group), group};
  cut.tokens = std::min(cut.tokens, num_tokens);
  while (cut.tokens > 1 && calls(cut.tokens, group) < wanted) cut.tokens /= 2;
  const auto good = [&](std::size_t queries) {
    const std::size_t n = calls(cut.tokens, queries);
    return queries <= rows && (n % threads == 0 || n >= 2 * wanted);
  };
  while (cut.queries > 1 && !(group % cut.queries == 0 && good(cut.queries))) --cut.queries;
  return cut;
}

/// Multiply-adds of a segment's attention, up to a factor.
std::size_t WorkOf(const Segment& segment) {
  const std::size_t count = segment.tokens.size();
  return count * (Size(segment.sequence->length()) + (count + 1) / 2);
}

/// A thread that has done its own calls helps those that are behind, since later tokens and longer
/// sequences have more positions behind them.
void AttendBatch(const Attention& attention) {
  const Context& context = attention.context;
  const std::span<const AttentionItem> items = context.state.attention;
  context.team.Deal(items.size(), 1, [&](Range range) {
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const auto args = MakeArgs(attention, items[i]);
      context.floats().attention(&args);
    }
  });
}

/// One token with many positions behind it: the positions are shared out, since there are fewer
/// key-value heads than could keep the threads evenly busy.
bool SplitsPositions(const Attention& attention) {
  const Context& context = attention.context;
  constexpr std::size_t kWorthThreeBarriers = 512;
  const std::size_t group = Size(attention.heads.group);
  const std::size_t positions = context.position(0) + 1 - PositionsPassedOver(attention, 0);
  return context.num_tokens == 1 && context.team.size() > 1 &&
         group <= kernels::AttentionRows(positions + 1) && positions >= kWorthThreeBarriers;
}

/// Deals out pieces of `size` positions of every group of heads: step(group, begin, end).
template <class Step>
void DealPieces(const Attention& attention, std::size_t positions, std::size_t size, Step step) {
  const std::size_t pieces = (positions + size - 1) / size;
  attention.context.team.Deal(Size(attention.heads.groups()) * pieces, 1, [&](Range range) {
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const std::size_t begin = i % pieces * size;
      step(i / pieces, begin, std::min(begin + size, positions));
    }
  });
}

/// The steps of attention with a barrier in between; sums of blocks meet in their order, as in one
/// call (kernels::kAttentionBlock), so the bits are the same.
void AttendSplit(const Attention& attention) {
  constexpr std::size_t kScorePiece = 128;
  const Context& context = attention.context;
  const ModelConfig& c = context.config;
  const std::size_t heads = Size(attention.heads.heads), group = Size(attention.heads.group);
  const std::size_t dim = Size(c.head_dim), padded_dim = (dim + 15) / 16 * 16;
  const std::size_t positions = context.position(0) + 1 - PositionsPassedOver(attention, 0);
  const std::size_t padded = (positions + kPositions - 1) / kPositions * kPositions;
  float* scores = context.state.scores.data();  // [heads][padded]
  float* mixes = context.state.mixes.data();    // [block][heads][padded_dim]
  const auto args_of = [&](std::size_t index) {
    return MakeArgs(attention, {0, 1, index * group, group});
  };
  DealPieces(attention, padded, kScorePiece,
             [&](std::size_t index, std::size_t begin, std::size_t end) {
               const auto args = args_of(index);
               context.floats().attention_scores(&args, begin, end, scores + index * group * padded,
                                                 padded);
             });
  context.team.Barrier();
  const Range mine = context.team.Share(heads);
  for (std::size_t head = mine.begin; head < mine.end; ++head) {
    const auto args = args_of(head / group);
    context.floats().attention_weights(&args, positions, scores + head * padded);
  }
  context.team.Barrier();
  DealPieces(attention, padded, kernels::kAttentionBlock,
             [&](std::size_t index, std::size_t begin, std::size_t end) {
               const auto args = args_of(index);
               const std::size_t block = begin / kernels::kAttentionBlock;
               context.floats().attention_mix(&args, scores + index * group * padded, padded, begin,
                                              end,
                                              mixes + (block * heads + index * group) * padded_dim);
             });
  context.team.Barrier();
  for (std::size_t head = mine.begin; head < mine.end; ++head) {
    float* out = attention.attended.row(0) + head * dim;
    std::memcpy(out, mixes + head * padded_dim, dim * sizeof(float));
    for (std::size_t begin = kernels::kAttentionBlock; begin < padded;
         begin += kernels::kAttentionBlock) {
      const std::size_t block = begin / kernels::kAttentionBlock;
      context.floats().add(out, mixes + (block * heads + head) * padded_dim, dim);
    }
  }
}

}  // namespace

void PlanAttention(const ModelConfig& config, std::span<const Segment> segments,
                   std::size_t threads, std::vector<AttentionItem>* items) {
  items->clear();
  const HeadShare heads = config.HeadsHere();
  std::size_t all_work = 0, first_token = 0;
  for (const Segment& segment : segments) all_work += WorkOf(segment);
  for (const Segment& segment : segments) {
    const std::size_t count = segment.tokens.size();
    // Four calls a thread, of which a segment makes as many as its share of the work.
    const std::size_t wanted = (4 * threads * WorkOf(segment) + all_work - 1) / all_work;
    const Cut cut = CutSegment(heads, Size(segment.sequence->length()), count, threads, wanted);
    // Neighbouring calls belong to different tokens, so that threads' shares are alike.
    for (std::size_t query = 0; query < Size(heads.heads); query += cut.queries) {
      for (std::size_t token = 0; token < count; token += cut.tokens) {
        items->push_back(
            {first_token + token, std::min(cut.tokens, count - token), query, cut.queries});
      }
    }
    first_token += count;
  }
}

void ComputeRopeAngles(const Context& context) {
  const double magnitude = context.config.rope_scaling.magnitude;
  const Range tokens = context.team.Share(context.num_tokens);
  const ForwardState::Impl& state = context.state;
  for (std::size_t token = tokens.begin; token < tokens.end; ++token) {
    const double position = static_cast<double>(context.position(token));
    const auto fill = [&](const std::vector<double>& inv_freq, double times, float* cosine,
                          float* sine) {
      for (std::size_t i = 0; i < inv_freq.size(); ++i) {
        const SinCosResult angle = SinCos(position * inv_freq[i]);
        cosine[i] = static_cast<float>(angle.cos * times);
        sine[i] = static_cast<float>(angle.sin * times);
      }
    };
    fill(context.weights.inv_freq, magnitude, state.cosine.row(token), state.sine.row(token));
    if (context.weights.window_inv_freq.empty()) continue;
    fill(context.weights.window_inv_freq, 1, state.window_cosine.row(token),
         state.window_sine.row(token));
  }
}

void Attend(const Context& context, const LayerWeights& layer, FloatRows qkv, FloatRows attended) {
  const HeadShare heads = context.config.HeadsHere();
  const FloatRows mine{attended.data + heads.first * context.config.head_dim, attended.stride};
  const Attention attention{context, layer, context.IndexOf(layer), qkv, mine};
  ForTokens(context, context.num_tokens,
            [&](std::size_t token) { RotateAndAppend(attention, token); });
  TraceStep(context, &layer, TracePoint::kRope);
  if (SplitsPositions(attention)) {
    AttendSplit(attention);
  } else {
    AttendBatch(attention);
  }
  if (layer.qkv_proj.parts.size() > 3) {
    ForTokens(context, context.num_tokens, [&](std::size_t token) { GateToken(attention, token); });
  }
  ExchangeHeads(context, mine, attended);
  TraceShares(context, &layer, TracePoint::kAttention);
}

}  // namespace bittern::model
