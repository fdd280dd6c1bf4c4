// SPDX-License-Identifier: Apache-2.0
// Counts walk the weights as they lie in memory, so layouts and dead neurons are in the sums.
#include "runtime/tune/token_cost.hpp"

#include <algorithm>
#include <numeric>

#include "model/weights.hpp"
#include "quant/layouts/screen_planes.hpp"

namespace bittern::runtime {
namespace {

/// Adds the bytes and the multiply-adds of one matrix times one vector; of the matrices of all
/// experts the share of those that a token has chosen.
void AddMatrix(const model::TernaryMatrix& matrix, TokenCost::Part* part,
               const model::ExpertWeights& experts = {}) {
  std::uint64_t bytes = matrix.tiles.size() + matrix.group_scales.size() * sizeof(float) +
                        matrix.half_scales.size() * sizeof(std::uint16_t);
  std::uint64_t rows = 0;
  for (const model::TernaryMatrix::Part& p : matrix.parts) {
    bytes += p.row_scales.size() * sizeof(float);
    rows += p.rows;
  }
  const std::uint64_t used = experts.count == 0 ? 1 : experts.used;
  const std::uint64_t of = experts.count == 0 ? 1 : experts.count;
  part->ternary = true;
  part->bytes += bytes / of * used;
  part->multiply_adds += rows / of * used * matrix.cols;
}

/// The floats of all norms' weights. Norms that a model does not have are empty.
std::uint64_t NormFloats(const model::Weights& weights) {
  std::uint64_t floats = weights.final_norm.size();
  for (const model::LayerWeights& layer : weights.layers) {
    for (const std::vector<float>* norm :
         {&layer.attn_norm, &layer.q_norm, &layer.k_norm, &layer.attn_sub_norm, &layer.ffn_norm,
          &layer.ffn_sub_norm, &layer.delta_norm}) {
      floats += norm->size();
    }
  }
  return floats;
}

/// Keys and values of every position that the token sees, read once for all query heads that share
/// them.
TokenCost::Part KvPart(const model::ModelConfig& config, int position, model::KvType kv_type) {
  std::uint64_t rows = 0;  // a key or a value of one position and layer
  for (int layer = 0; layer < config.num_layers; ++layer) {
    if (config.IsDelta(layer)) continue;
    const int window = config.WindowOf(layer);
    rows +=
        2 * static_cast<std::uint64_t>(window == 0 ? position + 1 : std::min(window, position + 1));
  }
  const bool int8 = kv_type == model::KvType::kI8;
  const std::uint64_t element = int8 ? 1 : kv_type == model::KvType::kF16 ? 2 : 4;
  const std::uint64_t scales =
      int8 ? static_cast<std::uint64_t>(config.num_kv_heads) * sizeof(float) : 0;
  return {"KV cache", rows * (static_cast<std::uint64_t>(config.kv_size()) * element + scales),
          rows * static_cast<std::uint64_t>(config.q_size()), false};
}

/// The recurrent states of delta layers, which are read and written once each (a few columns stay
/// in cache between the two halves of a step), and the floats beside their projections.
TokenCost::Part StatePart(const model::ModelConfig& config) {
  const model::DeltaShape& delta = config.delta;
  const auto layers = static_cast<std::uint64_t>(config.num_delta_layers());
  const std::uint64_t matrix =
      static_cast<std::uint64_t>(delta.value_size()) * static_cast<std::uint64_t>(delta.head_dim);
  const std::uint64_t gates = 2 * static_cast<std::uint64_t>(delta.value_heads) *
                              static_cast<std::uint64_t>(config.hidden_size);
  const std::uint64_t conv =
      static_cast<std::uint64_t>(delta.taps) * static_cast<std::uint64_t>(delta.mix_size());
  return {"recurrent state", layers * (2 * matrix + gates + 2 * conv) * sizeof(float),
          layers * (4 * matrix + gates + conv), false};
}

/// The live share of a number, where that was counted.
bool TakeShare(const model::LiveCount& count, std::uint64_t* number) {
  if (count.all == 0) return false;
  const double share = static_cast<double>(count.live) / static_cast<double>(count.all);
  *number = static_cast<std::uint64_t>(static_cast<double>(*number) * share);
  return true;
}

/// The whole head, or what a screen read of its coarse copy and of itself.
void AddHead(const model::Weights& weights, const model::ScreenStats& screen, TokenCost* cost) {
  const model::DenseMatrix& head = weights.lm_head;
  const std::uint64_t multiply_adds = std::uint64_t{head.rows} * head.cols;
  const model::ScreenedHead& copy = *weights.screened_head;
  if (copy.empty() || screen.tokens == 0) {
    cost->parts.push_back({.name = "output head",
                           .bytes = std::uint64_t{head.rows} * head.row_bytes,
                           .multiply_adds = multiply_adds});
    return;
  }
  const std::uint64_t planes = screen.tiles_of_bits * quant::BitTileBytes(copy.padded_cols) +
                               screen.after_5_bits * quant::PairRowBytes(copy.padded_cols);
  // Three floats of every row say how far off its coarse copy may be; of codes all is read.
  cost->parts.push_back({.name = copy.has_codes() ? "head, codes" : "head, coarse",
                         .bytes = copy.has_codes()
                                      ? copy.bytes()
                                      : copy.nibbles.size() + 3 * copy.step.size() * sizeof(float) +
                                            planes / screen.tokens,
                         .multiply_adds = multiply_adds});
  const std::uint64_t exact_rows = screen.after_7_bits;
  cost->parts.push_back({.name = "head, exact",
                         .bytes = exact_rows * head.row_bytes / screen.tokens,
                         .multiply_adds = exact_rows * head.cols / screen.tokens});
}

}  // namespace

std::uint64_t TokenCost::bytes() const noexcept {
  return std::accumulate(parts.begin(), parts.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const Part& part) { return sum + part.bytes; });
}

std::uint64_t TokenCost::ternary_multiply_adds() const noexcept {
  return std::accumulate(parts.begin(), parts.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const Part& part) {
                           return sum + (part.ternary ? part.multiply_adds : 0);
                         });
}

/// With skipped zeros the counts of up_proj and down_proj are scaled by the live share, if it was
/// measured; else they are upper bounds (`at_most`).
TokenCost CostOfToken(const model::Model& model, int position, model::KvType kv_type,
                      const model::ScreenStats& screen, const model::SkipStats& skip_stats) {
  const model::Weights& weights = model.weights();
  const bool skips = weights.layers.front().skips_zeros();
  TokenCost::Part qkv{.name = "qkv_proj"}, o{.name = "o_proj"}, down{.name = "down_proj"};
  TokenCost::Part gate{.name = skips ? "gate_proj" : "gate_up_proj"}, up{.name = "up_proj"};
  TokenCost::Part router{.name = "router"};
  for (const model::LayerWeights& layer : weights.layers) {
    AddMatrix(layer.qkv_proj, &qkv);
    AddMatrix(layer.o_proj, &o);
    AddMatrix(layer.gate_up_proj, &gate, layer.experts);
    AddMatrix(layer.up_proj, &up);
    AddMatrix(layer.down_proj, &down, layer.experts);
    router.bytes += layer.experts.router.size() * sizeof(float);
    router.multiply_adds += layer.experts.router.size();
  }
  const model::SkipStats& s = skip_stats;
  up.at_most = skips && !TakeShare(s.up_rows, &up.bytes);
  down.at_most = skips && !TakeShare(s.down_columns, &down.bytes);
  TakeShare(s.up_products, &up.multiply_adds);
  TakeShare(s.down_products, &down.multiply_adds);
  const TokenCost::Part embedding{.name = "embedding row", .bytes = weights.embedding.row_bytes};
  const TokenCost::Part norms{.name = "norms", .bytes = NormFloats(weights) * sizeof(float)};
  TokenCost cost{{embedding, norms, qkv, KvPart(model.config(), position, kv_type), o, gate}};
  if (model.config().num_delta_layers() != 0) cost.parts.push_back(StatePart(model.config()));
  if (router.bytes != 0) cost.parts.push_back(router);
  if (skips) cost.parts.push_back(up);
  cost.parts.push_back(down);
  AddHead(weights, screen, &cost);
  return cost;
}

}  // namespace bittern::runtime
