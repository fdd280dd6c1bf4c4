// SPDX-License-Identifier: Apache-2.0
// Finds tokens that are written out in a text, such as <|eot_id|>.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/vocabulary.hpp"

namespace bittern::tokenizer {

/// A set of literal strings, searched for leftmost first and longest first. Immutable.
class SpecialTokens {
 public:
  struct Match {
    std::size_t offset, size;
    TokenId id;
  };

  /// The user-defined tokens of a vocabulary, its control tokens, or both. Empty strings and
  /// strings that are not UTF-8 are left out; of equal strings the lowest id counts.
  SpecialTokens(const Vocabulary& vocabulary, bool with_user_defined, bool with_control);

  /// The first match at or after `from`; the longest one there. Time: linear in the text times
  /// the length of the longest string (Vocabulary bounds it).
  [[nodiscard]] std::optional<Match> Find(std::string_view text, std::size_t from) const;
  /// The longest match that begins exactly at `offset`.
  [[nodiscard]] std::optional<Match> MatchAt(std::string_view text, std::size_t offset) const;

 private:
  struct Entry {
    std::string text;
    TokenId id;
  };

  [[nodiscard]] const Entry* LongestAt(std::string_view text) const;

  std::vector<Entry> entries_;  // sorted by text
  std::array<bool, 256> is_first_byte_{};
};

}  // namespace bittern::tokenizer
