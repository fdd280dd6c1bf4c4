// SPDX-License-Identifier: Apache-2.0
// The tokens that a grammar allows next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tokenizer/token_id.hpp"

namespace bittern::grammar {

using tokenizer::TokenId;

/// The tokens that may come next, those that end texts excluded.
struct TokenMask {
  std::size_t count = 0;
  /// By ascending id; only where there are at most kFew.
  std::vector<TokenId> few = {};
  static constexpr std::size_t kFew = 512;
  /// A bit for each id, the lowest first; only where there are more.
  std::vector<std::uint64_t> bits = {};
  bool may_end = false;  ///< a token that ends the text may come

  [[nodiscard]] bool Allows(TokenId id) const noexcept;
};

}  // namespace bittern::grammar
