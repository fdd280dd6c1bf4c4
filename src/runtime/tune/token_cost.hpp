// SPDX-License-Identifier: Apache-2.0
// The cost of one token: the bytes that decoding it reads and the multiply-adds it needs, part by
// part. The bytes divided by the memory's bandwidth are the roof of decode, the multiply-adds by
// the CPU's rate that of prefill (the roofline model: Williams, Waterman and Patterson, 2009).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/kv_pool.hpp"
#include "model/model.hpp"
#include "model/skip_stats.hpp"

namespace bittern::runtime {

struct TokenCost {
  struct Part {
    std::string name;                 ///< "qkv_proj", ..., "norms", "output head", "KV cache"
    std::uint64_t bytes = 0;          ///< read while one token is decoded
    std::uint64_t multiply_adds = 0;  ///< for one token; zeros that were left out do not count
    bool ternary = false;             ///< a ternary matrix: also run for every prompt token
    bool at_most = false;  ///< what meets a zero is not read (model/forward/sparse_up.hpp)
    [[nodiscard]] bool operator==(const Part&) const = default;
  };
  std::vector<Part> parts;  ///< in the order in which a token meets them

  [[nodiscard]] std::uint64_t bytes() const noexcept;
  /// Multiply-adds of the ternary matrices: prefill spends nearly all its time on them.
  [[nodiscard]] std::uint64_t ternary_multiply_adds() const noexcept;
};

/// The cost of a token decoded after `position` others, summed over layers, with weights as they
/// lie in memory (padding included). `screen` is what the screen of the output head did: where it
/// has seen tokens, the head is what it read for one on average; `skips` likewise for the parts
/// that zero skipping reads in part.
[[nodiscard]] TokenCost CostOfToken(const model::Model& model, int position, model::KvType kv_type,
                                    const model::ScreenStats& screen = {},
                                    const model::SkipStats& skips = {});

}  // namespace bittern::runtime
