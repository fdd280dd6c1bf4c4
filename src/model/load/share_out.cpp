// SPDX-License-Identifier: Apache-2.0
// RankShares::Create: which rank gets which part of a network.
#include <fmt/format.h>

#include "model/config.hpp"
#include "model/ranks/rank_shares.hpp"
#include "quant/layouts/tile16.hpp"

namespace bittern::model {
namespace {

constexpr std::size_t kVocabUnit = 64;  // a word of Segment::allowed

Result<void> CheckUnits(const char* what, std::size_t count, std::size_t unit, const Ranks& ranks) {
  const std::size_t units = (count + unit - 1) / unit;
  if (units >= static_cast<std::size_t>(ranks.size())) return {};
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("{} ranks are too many for this network: its {} {} make {} parts at most",
                          ranks.size(), count, what, units));
}

}  // namespace

Result<RankShares> RankShares::Create(const ModelConfig& c, Ranks* ranks) {
  RankShares shares;
  if (ranks == nullptr || ranks->size() == 1) return shares;
  const auto heads = static_cast<std::size_t>(c.num_heads);
  const auto hidden = static_cast<std::size_t>(c.hidden_size);
  const auto vocab = static_cast<std::size_t>(c.vocab_size);
  const bool mixture = c.experts.count != 0;
  const auto neurons = static_cast<std::size_t>(mixture ? c.experts.neurons : c.intermediate_size);
  BITTERN_TRY(CheckUnits("heads", heads, 1, *ranks));
  BITTERN_TRY(CheckUnits("hidden values", hidden, quant::kTileRows, *ranks));
  BITTERN_TRY(CheckUnits("tokens of the vocabulary", vocab, kVocabUnit, *ranks));
  BITTERN_TRY(CheckUnits("neurons", neurons, quant::kTileRows, *ranks));
  const auto keys = static_cast<std::size_t>(c.delta.key_heads);
  if (keys != 0) BITTERN_TRY(CheckUnits("key heads of delta layers", keys, 1, *ranks));
  shares.ranks = ranks;
  shares.heads = RankCut(heads, 1, *ranks);
  const auto dim = static_cast<std::size_t>(c.head_dim);
  shares.head_values = RankCut(heads * dim, dim, *ranks);
  shares.hidden = RankCut(hidden, quant::kTileRows, *ranks);
  shares.vocab = RankCut(vocab, kVocabUnit, *ranks);
  if (keys != 0) {
    const auto delta_dim = static_cast<std::size_t>(c.delta.head_dim);
    shares.delta_keys = RankCut(keys, 1, *ranks);
    shares.delta_rows = RankCut(keys * delta_dim, delta_dim, *ranks);
  }
  if (mixture) shares.expert = CutNeurons(neurons, *ranks);
  return shares;
}

}  // namespace bittern::model
