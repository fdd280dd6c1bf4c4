// SPDX-License-Identifier: Apache-2.0
// The tokens of a vocabulary as a tree of their bytes, flat, in depth-first order: a walk goes on
// to the next entry, or leaves a whole subtree out by going to where it ends. Tokens are ranked in
// the same order, so a subtree's tokens are a range.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/tokenizer.hpp"

namespace bittern::grammar {

using tokenizer::TokenId;

/// Immutable after Build; any number of threads may share one.
class VocabularyTrie {
 public:
  struct Node {
    std::uint32_t end;        ///< the node after this one's subtree
    std::uint32_t rank;       ///< of the first token of the subtree
    std::uint32_t ranks_end;  ///< after the last one
    std::uint16_t depth;      ///< bytes from the root, 1..
    std::uint8_t byte;
    std::uint8_t own;  ///< tokens that end here, 255 at most: their ranks come first
    /// All texts from before this byte to the tokens of the subtree are plain characters, as they
    /// stand in a JSON string without an escape, so many at most; 0: some are not.
    std::uint8_t plain;
  };

  /// Tokens that are text: neither control tokens, nor those that end texts, nor empty ones.
  [[nodiscard]] static VocabularyTrie Build(const tokenizer::Tokenizer& tokenizer);
  /// From the bytes of each token; empty: no text.
  [[nodiscard]] static VocabularyTrie Build(std::span<const std::string> tokens);

  [[nodiscard]] std::span<const Node> nodes() const noexcept { return nodes_; }
  /// By rank.
  [[nodiscard]] std::span<const TokenId> ids() const noexcept { return ids_; }
  /// By id; kNoRank: no text.
  [[nodiscard]] std::span<const std::uint32_t> ranks() const noexcept { return ranks_; }
  /// A bit for each id that has a rank, the lowest first.
  [[nodiscard]] std::span<const std::uint64_t> text_bits() const noexcept { return text_bits_; }
  static constexpr std::uint8_t kMostPlain = 250;  ///< characters of Node::plain
  static constexpr std::uint32_t kNoRank = 0xffffffffu;
  [[nodiscard]] std::size_t vocab_size() const noexcept { return ranks_.size(); }
  [[nodiscard]] std::string_view bytes(TokenId id) const noexcept {
    const auto i = static_cast<std::size_t>(id);
    return std::string_view(bytes_).substr(begins_[i], begins_[i + 1] - begins_[i]);
  }
  [[nodiscard]] std::size_t longest() const noexcept { return longest_; }

 private:
  void AddNodes(std::size_t first, std::size_t last, std::size_t depth);
  void MarkPlain();

  std::string bytes_;
  std::vector<std::size_t> begins_;
  std::vector<Node> nodes_;
  std::vector<TokenId> ids_;
  std::vector<std::uint32_t> ranks_;
  std::vector<std::uint64_t> text_bits_;
  std::size_t longest_ = 0;
};

/// A character that stands in a JSON string without an escape; U+007F is left out, too.
[[nodiscard]] constexpr bool IsPlainByte(std::uint8_t byte) noexcept {
  return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
}

}  // namespace bittern::grammar
