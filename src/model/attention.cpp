// SPDX-License-Identifier: Apache-2.0
#include "model/attention.hpp"

#include <cmath>
#include <cstring>

#include "base/portable_math.hpp"
#include "model/trace_step.hpp"

namespace bittern::model {
namespace {

constexpr std::size_t kPositions = 16;  // positions that lie side by side in the key cache

std::size_t Size(int value) { return static_cast<std::size_t>(value); }

/// Writes one token's key (a lane of a block of 16 positions) and value (a row) of one head.
template <class Element>
void Append(Element* keys, Element* values, std::size_t position, std::size_t dim,
            const Element* key, const Element* value) {
  Element* lane = keys + position / kPositions * kPositions * dim + position % kPositions;
  for (std::size_t d = 0; d < dim; ++d) lane[d * kPositions] = key[d];
  std::memcpy(values + position * ((dim + 15) / 16 * 16), value, dim * sizeof(Element));
}

void AppendToCache(const Context& context, int layer, int kv_head, std::size_t position,
                   const float* key, const float* value) {
  const std::size_t dim = Size(context.config.head_dim);
  std::byte* keys = context.cache.keys(layer, kv_head);
  std::byte* values = context.cache.values(layer, kv_head);
  if (context.cache.type() == KvType::kF32) {
    Append(reinterpret_cast<float*>(keys), reinterpret_cast<float*>(values), position, dim, key,
           value);
    return;
  }
  std::uint16_t* half = context.scratch().half_row.data();  // key, then value
  context.floats().store_half(key, dim, half);
  context.floats().store_half(value, dim, half + dim);
  Append(reinterpret_cast<std::uint16_t*>(keys), reinterpret_cast<std::uint16_t*>(values), position,
         dim, half, half + dim);
}

/// A head's RMS norm before its rotation, where the network has one.
void NormHead(const Context& context, const std::vector<float>& weight, float* head) {
  if (weight.empty()) return;
  context.floats().rms_norm(head, weight.data(), weight.size(), context.config.rms_norm_eps, head);
}

/// Rotates a token's query and key heads in place and puts keys and values into the cache.
void RotateAndAppend(const Context& context, int layer, std::size_t token) {
  const ModelConfig& c = context.config;
  const LayerWeights& weights = context.weights.layers[Size(layer)];
  const TernaryMatrix& projection = weights.qkv_proj;
  const std::size_t dim = Size(c.head_dim), half = dim / 2;
  float* row = context.state.qkv.data() + token * projection.padded_rows();
  const float* cosine = context.state.cosine.data() + token * half;
  const float* sine = context.state.sine.data() + token * half;
  float* q = row + projection.parts[0].first_row;
  float* k = row + projection.parts[1].first_row;
  const float* v = row + projection.parts[2].first_row;
  for (std::size_t h = 0; h < Size(c.num_heads); ++h) {
    NormHead(context, weights.q_norm, q + h * dim);
    context.floats().rope(q + h * dim, cosine, sine, half);
  }
  if (context.cache.type() == KvType::kF16) context.floats().round_half(q, Size(c.q_size()));
  const std::size_t position = Size(context.first_position) + token;
  for (int h = 0; h < c.num_kv_heads; ++h) {
    float* key = k + Size(h) * dim;
    NormHead(context, weights.k_norm, key);
    context.floats().rope(key, cosine, sine, half);
    AppendToCache(context, layer, h, position, key, v + Size(h) * dim);
  }
}

/// Into how many pieces the query heads of one key-value head are split, so that few tokens still
/// give every thread its share. The pieces' results do not depend on it.
std::size_t PiecesPerGroup(const Context& context, std::size_t group) {
  const std::size_t tasks = context.num_tokens * Size(context.config.num_kv_heads);
  const std::size_t threads = Size(context.team.size());
  for (std::size_t pieces = 1; pieces < group; ++pieces) {
    if (group % pieces != 0) continue;
    if (tasks * pieces % threads == 0 || tasks * pieces >= 8 * threads) return pieces;
  }
  return group;
}

void AttendGroup(const Context& context, int layer, std::size_t token, int kv_head,
                 std::size_t first_query, std::size_t num_queries) {
  const ModelConfig& c = context.config;
  const TernaryMatrix& projection = context.weights.layers[Size(layer)].qkv_proj;
  const std::size_t dim = Size(c.head_dim);
  kernels::AttentionArgs args{};
  args.queries = context.state.qkv.data() + token * projection.padded_rows() +
                 projection.parts[0].first_row + first_query * dim;
  args.out = context.state.attended.data() + token * Size(c.q_size()) + first_query * dim;
  args.keys = context.cache.keys(layer, kv_head);
  args.values = context.cache.values(layer, kv_head);
  args.scratch = context.scratch().attention.data();
  args.num_queries = num_queries;
  args.head_dim = dim;
  args.num_positions = Size(context.first_position) + token + 1;
  args.scale = 1.0f / std::sqrt(static_cast<float>(c.head_dim));
  args.half = context.cache.type() == KvType::kF16;
  context.floats().attention(&args);
}

}  // namespace

void ComputeRopeAngles(const Context& context) {
  const std::vector<double>& inv_freq = context.weights.inv_freq;
  const Range tokens = context.team.Share(context.num_tokens);
  for (std::size_t token = tokens.begin; token < tokens.end; ++token) {
    const double position = static_cast<double>(Size(context.first_position) + token);
    float* cosine = context.state.cosine.data() + token * inv_freq.size();
    float* sine = context.state.sine.data() + token * inv_freq.size();
    for (std::size_t i = 0; i < inv_freq.size(); ++i) {
      const SinCosResult angle = SinCos(position * inv_freq[i]);
      cosine[i] = static_cast<float>(angle.cos);
      sine[i] = static_cast<float>(angle.sin);
    }
  }
  context.team.Barrier();
}

void Attend(const Context& context, int layer) {
  const Range tokens = context.team.Share(context.num_tokens);
  for (std::size_t token = tokens.begin; token < tokens.end; ++token) {
    RotateAndAppend(context, layer, token);
  }
  context.team.Barrier();
  TraceStep(context, &context.weights.layers[Size(layer)], TracePoint::kRope);

  const ModelConfig& c = context.config;
  const std::size_t group = Size(c.num_heads / c.num_kv_heads);
  const std::size_t pieces = PiecesPerGroup(context, group), queries = group / pieces;
  const std::size_t threads = Size(context.team.size());
  // Dealt out one by one, because later tokens have more positions behind them.
  const std::size_t tasks = Size(c.num_kv_heads) * pieces * context.num_tokens;
  for (std::size_t task = Size(context.team.index()); task < tasks; task += threads) {
    const std::size_t token = task % context.num_tokens, piece = task / context.num_tokens;
    const std::size_t first_query = piece * queries;
    AttendGroup(context, layer, token, static_cast<int>(first_query / group), first_query, queries);
  }
  context.team.Barrier();
}

}  // namespace bittern::model
