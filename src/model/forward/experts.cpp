// SPDX-License-Identifier: Apache-2.0
// Work is dealt out by experts. The tiles of an expert meet every row that has chosen it before the
// next tiles are read, so a batch reads its weights once. Many rows meet them by tables, the others
// by multiply-adds; the sums are the same.
#include "model/forward/experts.hpp"

#include <algorithm>
#include <cmath>

#include "base/portable_math.hpp"
#include "kernels/kernel.h"
#include "model/forward/for_tokens.hpp"
#include "model/forward/gemm.hpp"
#include "model/forward/linear.hpp"
#include "quant/layouts/tile16.hpp"

namespace bittern::model {
namespace {

/// Scores of all experts, of every token: threads share the experts.
void ScoreExperts(const Context& context, const ExpertWeights& experts) {
  const ForwardState::Impl& rows = context.state;
  const std::size_t hidden = rows.hidden.stride;
  const Range mine = context.team.Share(experts.count);
  const float* router = experts.router.data() + mine.begin * hidden;
  for (std::size_t token = 0; token < context.num_tokens; ++token) {
    context.floats().dot_f32(router, mine.end - mine.begin, hidden, rows.router_input.row(token),
                             rows.router_scores.row(token) + mine.begin);
  }
}

void ChooseForToken(const Context& context, const LayerWeights& layer, std::size_t token) {
  const ExpertWeights& experts = layer.experts;
  MixtureState& mixture = context.state.mixture;
  const std::size_t first = token * experts.used;
  if (!ChooseExperts({context.state.router_scores.row(token), experts.count},
                     std::span(mixture.experts).subspan(first, experts.used),
                     std::span(mixture.weights).subspan(first, experts.used))) {
    RecordFailure(context, token, {context.IndexOf(layer), TracePoint::kFfnNorm});
  }
}

/// Lists the experts that are chosen at all, in their order, and the choices of each, in the order
/// of tokens and ranks.
void GroupByExpert(const ExpertWeights& experts, std::size_t num_tokens, MixtureState* mixture) {
  const std::span<const std::uint32_t> chosen(mixture->experts.data(), num_tokens * experts.used);
  std::vector<std::uint32_t>& ends = mixture->ends;  // of each expert, in `choices`
  std::ranges::fill(ends, 0);
  for (const std::uint32_t expert : chosen) ++ends[expert];
  mixture->loads.clear();
  std::uint32_t first = 0;
  for (std::uint32_t expert = 0; expert < experts.count; ++expert) {
    const std::uint32_t count = ends[expert];
    ends[expert] = first;
    if (count != 0) mixture->loads.push_back({expert, first, count});
    first += count;
  }
  for (std::uint32_t i = 0; i < chosen.size(); ++i) mixture->choices[ends[chosen[i]]++] = i;
}

/// Experts of a matrix that were chosen, each of them in parts, and the rows that meet them.
struct ChosenTiles {
  const Context& context;
  const TernaryMatrix& matrix;
  const QuantizedRows& in;
  std::size_t parts, tiles_of_part;  ///< of an expert

  [[nodiscard]] bool ByTables(const ExpertLoad& load, std::size_t tiles) const {
    return TablesAreFaster(context, matrix, in, load.count, tiles * quant::kTileRows);
  }

  /// Tiles of a part to deal out at a time: many where tables are faster for some expert, but at
  /// least a few pieces for each thread; else a few.
  [[nodiscard]] std::size_t AtOnce() const {
    const auto& loads = context.state.mixture.loads;
    const std::size_t pieces = 4 * static_cast<std::size_t>(context.team.size());
    const std::size_t share = loads.size() * parts * tiles_of_part / pieces;
    const std::size_t many =
        std::min({kMostGroupedTiles, tiles_of_part, std::max(share, kGroupedTiles)});
    const bool tables =
        std::ranges::any_of(loads, [&](const auto& load) { return ByTables(load, many); });
    return tables ? many : kGroupedTiles;
  }
};

/// Deals them out: step(load, part, tiles, by_tables), tiles of one part of an expert at a time.
template <class Step>
void DealTiles(const ChosenTiles& chosen, Step step) {
  const auto& loads = chosen.context.state.mixture.loads;
  const std::size_t of_part = chosen.tiles_of_part, tiles = chosen.parts * of_part;
  const std::size_t at_once = chosen.AtOnce();
  chosen.context.team.Deal(loads.size() * tiles, at_once, [&](Range range) {
    for (std::size_t i = range.begin, count; i < range.end; i += count) {
      const ExpertLoad& load = loads[i / tiles];
      const std::size_t tile = i % of_part;
      count = std::min({at_once, range.end - i, of_part - tile});
      const bool by_tables = chosen.ByTables(load, count);
      if (!by_tables) count = std::min(count, kGroupedTiles);
      step(load, i % tiles / of_part, Range{tile, tile + count}, by_tables);
    }
  });
}

/// Tiles of an expert times every token that has chosen it: add(tokens, token, rank) says from
/// which column on, and where the product goes.
template <class Add>
void MultiplyChoices(const ChosenTiles& chosen, Range tiles, const ExpertLoad& load, bool by_tables,
                     Add add) {
  const Context& context = chosen.context;
  const std::size_t used = static_cast<std::size_t>(context.config.experts.used);
  GroupedTokens tokens(context, chosen.in);
  for (const std::uint32_t choice : context.state.mixture.ChoicesOf(load)) {
    add(&tokens, choice / used, choice % used);
  }
  const TilesOfMatrix of{context, chosen.matrix, tiles,
                         GroupScalesOf(context, chosen.matrix, tiles)};
  by_tables ? tokens.LookUp(of) : tokens.Multiply(of);
}

}  // namespace

bool ChooseExperts(std::span<const float> scores, std::span<std::uint32_t> experts,
                   std::span<float> weights) noexcept {
  const bool finite = std::ranges::all_of(scores, [](float s) { return std::isfinite(s); });
  std::size_t known = 0;
  for (std::uint32_t expert = 0; expert < scores.size() && finite; ++expert) {
    std::size_t rank = known;
    while (rank > 0 && scores[expert] > scores[experts[rank - 1]]) --rank;
    if (rank == experts.size()) continue;
    known = std::min(known + 1, experts.size());
    for (std::size_t i = known - 1; i > rank; --i) experts[i] = experts[i - 1];
    experts[rank] = expert;
  }
  if (!finite) {
    for (std::uint32_t i = 0; i < experts.size(); ++i) experts[i] = i;
    std::ranges::fill(weights, 0.0f);
    return false;
  }
  const auto power = [&](std::size_t rank) {
    return Exp(static_cast<double>(scores[experts[rank]]) -
               static_cast<double>(scores[experts[0]]));
  };
  double sum = 0;
  for (std::size_t rank = 0; rank < experts.size(); ++rank) sum += power(rank);
  for (std::size_t rank = 0; rank < experts.size(); ++rank) {
    weights[rank] = static_cast<float>(power(rank) / sum);
  }
  return true;
}

void ForwardExpertsUp(const Context& context, const LayerWeights& layer, const QuantizedRows& in,
                      FloatRows out) {
  const ExpertWeights& experts = layer.experts;
  MixtureState& mixture = context.state.mixture;
  ScoreExperts(context, experts);
  ForTokens(context, context.num_tokens,
            [&](std::size_t token) { ChooseForToken(context, layer, token); });
  context.team.BarrierThen([&] {
    GroupByExpert(experts, context.num_tokens, &mixture);
    context.scratch().skips.experts.Add(experts.count, mixture.loads.size());
  });
  // The gates are the first part of an expert, the ups the second.
  const ChosenTiles chosen{context, layer.gate_up_proj, in, 2, experts.neurons / quant::kTileRows};
  DealTiles(chosen, [&](const ExpertLoad& load, std::size_t part, Range tiles, bool by_tables) {
    const std::size_t first = layer.gate_up_proj.parts[part].first_row / quant::kTileRows +
                              load.expert * chosen.tiles_of_part;
    const auto add = [&](GroupedTokens* tokens, std::size_t token, std::size_t rank) {
      float* to = out.row(token) + (part * experts.used + rank) * experts.neurons;
      tokens->Add(token, 0, to + tiles.begin * quant::kTileRows);
    };
    MultiplyChoices(chosen, {first + tiles.begin, first + tiles.end}, load, by_tables, add);
  });
}

void ClampGates(const ExpertWeights& experts, float* gates, float* ups) noexcept {
  for (std::size_t i = 0; i < experts.used * experts.neurons; ++i) {
    gates[i] = std::min(gates[i], experts.clamp);
    ups[i] = std::max(std::min(ups[i], experts.clamp), -experts.clamp);
  }
}

void ForwardExpertsDown(const Context& context, const LayerWeights& layer, const QuantizedRows& in,
                        FloatRows out) {
  const ExpertWeights& experts = layer.experts;
  const MixtureState& mixture = context.state.mixture;
  const FloatRows each = context.state.expert_out;
  const std::size_t hidden = layer.down_proj.parts[0].rows / experts.count;  // rows, of this rank
  const ChosenTiles chosen{context, layer.down_proj, in, 1, hidden / quant::kTileRows};
  DealTiles(chosen, [&](const ExpertLoad& load, std::size_t, Range tiles, bool by_tables) {
    const std::size_t first = load.expert * chosen.tiles_of_part;
    const auto add = [&](GroupedTokens* tokens, std::size_t token, std::size_t rank) {
      tokens->Add(token, rank * experts.all_neurons,
                  each.row(token) + rank * hidden + tiles.begin * quant::kTileRows);
    };
    MultiplyChoices(chosen, {first + tiles.begin, first + tiles.end}, load, by_tables, add);
  });
  ForTokens(context, context.num_tokens, [&](std::size_t token) {
    const float* weights = mixture.weights.data() + token * experts.used;
    const float* part = each.row(token);
    float* sum = out.row(token);
    for (std::size_t i = 0; i < hidden; ++i) sum[i] = weights[0] * part[i];
    for (std::size_t rank = 1; rank < experts.used; ++rank) {
      part += hidden;
      for (std::size_t i = 0; i < hidden; ++i) sum[i] += weights[rank] * part[i];
    }
  });
}

}  // namespace bittern::model
