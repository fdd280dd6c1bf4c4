// SPDX-License-Identifier: Apache-2.0
// The strings are sorted, so those that share a prefix are neighbours: reading the text byte by
// byte narrows a range of them, as walking down a trie would.
#include "tokenizer/special_tokens.hpp"

#include <algorithm>
#include <tuple>

#include "base/utf8.hpp"

namespace bittern::tokenizer {
namespace {

unsigned char ByteAt(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

}  // namespace

/// Tokens that are not valid UTF-8 are left out: a text cannot contain them.
SpecialTokens::SpecialTokens(const Vocabulary& vocabulary, bool with_user_defined,
                             bool with_control) {
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    const TokenType type = vocabulary.type(id);
    const std::string_view text = vocabulary.bytes(id);
    const bool wanted = (with_user_defined && type == TokenType::kUserDefined) ||
                        (with_control && type == TokenType::kControl);
    if (!wanted || text.empty() || ReplaceInvalidUtf8(text) != text) continue;
    entries_.push_back({std::string(text), id});
    is_first_byte_[ByteAt(text, 0)] = true;
  }
  // string_view compares as unsigned bytes, which is what LongestAt relies on.
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.text, a.id) < std::tie(b.text, b.id);
  });
  const auto same_text = [](const Entry& a, const Entry& b) { return a.text == b.text; };
  entries_.erase(std::unique(entries_.begin(), entries_.end(), same_text), entries_.end());
}

/// The longest string that `text` begins with; null if none.
const SpecialTokens::Entry* SpecialTokens::LongestAt(std::string_view text) const {
  const Entry* longest = nullptr;
  auto low = entries_.begin(), high = entries_.end();
  for (std::size_t depth = 0; depth < text.size(); ++depth) {
    // All of [low, high) start with text[0, depth); a text that ends there is the first of them.
    if (low != high && low->text.size() == depth) ++low;
    const unsigned char byte = ByteAt(text, depth);
    low = std::lower_bound(low, high, byte, [depth](const Entry& entry, unsigned char wanted) {
      return ByteAt(entry.text, depth) < wanted;
    });
    high = std::upper_bound(low, high, byte, [depth](unsigned char wanted, const Entry& entry) {
      return wanted < ByteAt(entry.text, depth);
    });
    if (low == high) break;
    if (low->text.size() == depth + 1) longest = &*low;
  }
  return longest;
}

std::optional<SpecialTokens::Match> SpecialTokens::Find(std::string_view text,
                                                        std::size_t from) const {
  if (entries_.empty()) return std::nullopt;
  for (std::size_t offset = from; offset < text.size(); ++offset) {
    if (const auto match = MatchAt(text, offset)) return match;
  }
  return std::nullopt;
}

std::optional<SpecialTokens::Match> SpecialTokens::MatchAt(std::string_view text,
                                                           std::size_t offset) const {
  if (!is_first_byte_[ByteAt(text, offset)]) return std::nullopt;
  const Entry* entry = LongestAt(text.substr(offset));
  if (entry == nullptr) return std::nullopt;
  return Match{offset, entry->text.size(), entry->id};
}

}  // namespace bittern::tokenizer
