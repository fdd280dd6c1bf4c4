// SPDX-License-Identifier: Apache-2.0
#include "model/ranks/rank_shares.hpp"

#include <algorithm>

#include "quant/layouts/tile16.hpp"

namespace bittern::model {

RankCut::RankCut(std::size_t count, std::size_t unit, const Ranks& ranks) {
  const auto size = static_cast<std::size_t>(ranks.size());
  const std::size_t units = (count + unit - 1) / unit;
  for (std::size_t r = 0; r < size; ++r) {
    parts_.push_back(
        {std::min(count, units * r / size * unit), std::min(count, units * (r + 1) / size * unit)});
  }
}

bool RankCut::has_empty() const noexcept {
  return std::ranges::any_of(parts_, [](const Range& part) { return part.begin == part.end; });
}

RankCut CutNeurons(std::size_t count, const Ranks& ranks) {
  return {count, quant::kTileRows, ranks};
}

std::pair<int, int> HeadsOf(const RankCut& heads, int rank) noexcept {
  const Range part = heads.Of(rank);
  return {static_cast<int>(part.begin), static_cast<int>(part.end)};
}

}  // namespace bittern::model
