// SPDX-License-Identifier: Apache-2.0
// Counts of what was left out of the feed-forward part (sparse_up.hpp, sparse_down.hpp,
// experts.hpp), and when that pays.
#pragma once

#include <cstdint>

namespace bittern::model {

/// How many there were, and how many of them met something other than zero.
struct LiveCount {
  std::uint64_t all = 0, live = 0;

  void Add(std::uint64_t more, std::uint64_t more_live) noexcept {
    all += more;
    live += more_live;
  }
};

/// Summed over layers.
struct SkipStats {
  /// Rows of up_proj and columns of down_proj: the live ones were read. In passes of a single
  /// token.
  LiveCount up_rows = {}, down_columns = {};
  /// Products of tokens with rows or columns: the live ones were computed. In all passes.
  LiveCount up_products = {}, down_products = {};
  /// Experts of a mixture, of all passes: the live ones were chosen by some token, and were read.
  LiveCount experts = {};

  void Add(const SkipStats& other) noexcept {
    up_rows.Add(other.up_rows.all, other.up_rows.live);
    down_columns.Add(other.down_columns.all, other.down_columns.live);
    up_products.Add(other.up_products.all, other.up_products.live);
    down_products.Add(other.down_products.all, other.down_products.live);
    experts.Add(other.experts.all, other.experts.live);
  }
};

/// Whether it pays in a batch to take live terms by themselves, each of which costs `cost` times as
/// much as in dense tiles (kernels::SparseOps). What is gained must also pay for finding them.
[[nodiscard]] constexpr bool PaysToSkip(double share_of_live, double cost) noexcept {
  constexpr double kFinding = 0.05;
  return share_of_live * cost + kFinding < 1;
}

}  // namespace bittern::model
