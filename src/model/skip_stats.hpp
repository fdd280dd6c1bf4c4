// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace bittern::model {

/// What was left out of the feed-forward part, summed over layers.
struct SkipStats {
  /// Rows of up_proj and columns of down_proj that were there, and those that were read: in passes
  /// of a single token.
  std::uint64_t up_rows = 0, live_up_rows = 0;
  std::uint64_t down_columns = 0, live_down_columns = 0;
  /// Products of tokens with rows or columns, and those that were computed: in all passes.
  std::uint64_t up_products = 0, live_up_products = 0;
  std::uint64_t down_products = 0, live_down_products = 0;

  void Add(const SkipStats& other) noexcept {
    up_rows += other.up_rows;
    live_up_rows += other.live_up_rows;
    down_columns += other.down_columns;
    live_down_columns += other.live_down_columns;
    up_products += other.up_products;
    live_up_products += other.live_up_products;
    down_products += other.down_products;
    live_down_products += other.live_down_products;
  }
};

}  // namespace bittern::model
