// SPDX-License-Identifier: Apache-2.0
// Which part of a network each rank has: whole heads of q, k and v, and rows of every other matrix.
// So every value is computed on one rank, by the operations of a single process, and the vectors
// are gathered.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "base/threads/thread_pool.hpp"
#include "model/ranks/ranks.hpp"

namespace bittern::model {

struct ModelConfig;

/// [0, count) in one part a rank: equal parts but for one unit each.
class RankCut {
 public:
  RankCut() = default;
  RankCut(std::size_t count, std::size_t unit, const Ranks& ranks);

  [[nodiscard]] Range Of(int rank) const noexcept { return parts_[static_cast<std::size_t>(rank)]; }
  /// Every part, by rank.
  [[nodiscard]] std::span<const Range> parts() const noexcept { return parts_; }
  /// Some rank has nothing.
  [[nodiscard]] bool has_empty() const noexcept;

 private:
  std::vector<Range> parts_;
};

/// The parts of a network. `ranks` outlives every model that has them; null: one process has all.
struct RankShares {
  Ranks* ranks = nullptr;
  RankCut heads;        ///< query heads
  RankCut head_values;  ///< the values that they give
  RankCut hidden;       ///< rows of o and down
  RankCut vocab;        ///< rows of the head
  RankCut expert;       ///< neurons of one expert
  RankCut delta_keys;   ///< key heads of delta layers, each with the value heads that it serves
  RankCut delta_rows;   ///< the values of a run of so many heads

  /// The parts of a network; all of it where `ranks` is null or one. Error kInvalidArgument: more
  /// ranks than some matrix has units.
  [[nodiscard]] static Result<RankShares> Create(const ModelConfig& config, Ranks* ranks);

  [[nodiscard]] bool shared() const noexcept { return ranks != nullptr; }
  [[nodiscard]] int rank() const noexcept { return ranks == nullptr ? 0 : ranks->rank(); }
};

/// Neurons of a feed-forward part in one part a rank.
[[nodiscard]] RankCut CutNeurons(std::size_t count, const Ranks& ranks);

/// The heads of one rank, for ModelConfig::heads_here.
[[nodiscard]] std::pair<int, int> HeadsOf(const RankCut& heads, int rank) noexcept;

}  // namespace bittern::model
