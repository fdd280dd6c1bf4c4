// SPDX-License-Identifier: Apache-2.0
// Tokens are sorted by their bytes; a node is entered for each byte that the token before does
// not share.
#include "grammar/vocabulary_trie.hpp"

#include <algorithm>
#include <numeric>

#include "base/utf8.hpp"

namespace bittern::grammar {
namespace {

constexpr std::size_t kMostDepth = 60'000;

/// How many plain characters a text is; 0 if it is none, or too many.
std::size_t PlainChars(std::string_view text) {
  std::size_t count = 0;
  while (!text.empty()) {
    const Utf8Step step = DecodeUtf8(text);
    if (!step.valid) return 0;
    if (step.size == 1 && !IsPlainByte(static_cast<std::uint8_t>(text[0]))) return 0;
    text.remove_prefix(step.size);
    ++count;
  }
  return count > VocabularyTrie::kMostPlain ? 0 : count;
}

}  // namespace

VocabularyTrie VocabularyTrie::Build(const tokenizer::Tokenizer& tokenizer) {
  std::vector<std::string> tokens(static_cast<std::size_t>(tokenizer.vocab_size()));
  for (TokenId id = 0; id < tokenizer.vocab_size(); ++id) {
    if (tokenizer.IsControl(id) || tokenizer.IsEndOfGeneration(id)) continue;
    tokens[static_cast<std::size_t>(id)] = tokenizer.TokenBytes(id);
  }
  return Build(tokens);
}

VocabularyTrie VocabularyTrie::Build(std::span<const std::string> tokens) {
  VocabularyTrie trie;
  trie.begins_.push_back(0);
  for (const std::string& token : tokens) {
    if (token.size() <= kMostDepth) trie.bytes_ += token;
    trie.begins_.push_back(trie.bytes_.size());
  }
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    if (!trie.bytes(static_cast<TokenId>(id)).empty()) {
      trie.ids_.push_back(static_cast<TokenId>(id));
    }
  }
  std::ranges::sort(trie.ids_, [&](TokenId a, TokenId b) {
    const int order = trie.bytes(a).compare(trie.bytes(b));
    return order != 0 ? order < 0 : a < b;
  });
  trie.ranks_.assign(tokens.size(), kNoRank);
  trie.text_bits_.assign((tokens.size() + 63) / 64, 0);
  for (std::size_t rank = 0; rank < trie.ids_.size(); ++rank) {
    trie.ranks_[static_cast<std::size_t>(trie.ids_[rank])] = static_cast<std::uint32_t>(rank);
    const auto id = static_cast<std::size_t>(trie.ids_[rank]);
    trie.text_bits_[id / 64] |= std::uint64_t{1} << (id % 64);
    trie.longest_ = std::max(trie.longest_, trie.bytes(trie.ids_[rank]).size());
  }
  trie.AddNodes(0, trie.ids_.size(), 0);
  trie.MarkPlain();
  return trie;
}

/// Adds the subtrees of the tokens first..last, which agree in their first `depth` bytes. Without
/// recursion: tokens may be long.
void VocabularyTrie::AddNodes(std::size_t first, std::size_t last, std::size_t depth) {
  std::vector<std::uint32_t> open;  // nodes from the root to the last token
  for (std::size_t rank = first; rank < last; ++rank) {
    const std::string_view text = bytes(ids_[rank]);
    std::size_t same = depth;
    if (rank > first) {
      const std::string_view before = bytes(ids_[rank - 1]);
      while (same < before.size() && same < text.size() && before[same] == text[same]) ++same;
    }
    while (open.size() > same) {
      nodes_[open.back()].end = static_cast<std::uint32_t>(nodes_.size());
      nodes_[open.back()].ranks_end = static_cast<std::uint32_t>(rank);
      open.pop_back();
    }
    for (std::size_t i = same; i < text.size(); ++i) {
      open.push_back(static_cast<std::uint32_t>(nodes_.size()));
      nodes_.push_back({.end = 0,
                        .rank = static_cast<std::uint32_t>(rank),
                        .ranks_end = 0,
                        .depth = static_cast<std::uint16_t>(i + 1),
                        .byte = static_cast<std::uint8_t>(text[i]),
                        .own = 0,
                        .plain = 0});
    }
    Node& node = nodes_[open.back()];
    node.own = static_cast<std::uint8_t>(std::min<int>(node.own + 1, 255));
  }
  for (const std::uint32_t node : open) {
    nodes_[node].end = static_cast<std::uint32_t>(nodes_.size());
    nodes_[node].ranks_end = static_cast<std::uint32_t>(last);
  }
}

/// Fills Node::plain. A single token below that is not plain makes the whole subtree 0.
void VocabularyTrie::MarkPlain() {
  for (Node& node : nodes_) {
    std::size_t most = 0;
    for (std::uint32_t rank = node.rank; rank < node.ranks_end; ++rank) {
      const std::string_view text = bytes(ids_[rank]);
      const std::size_t before = node.depth - std::size_t{1};
      // The text before must end with a whole character.
      const std::size_t count = PlainChars(text.substr(before));
      if (count == 0 || (before > 0 && IsIncompleteUtf8(text.substr(0, before)))) {
        most = 0;
        break;
      }
      most = std::max(most, count);
    }
    node.plain = static_cast<std::uint8_t>(most);
  }
}

}  // namespace bittern::grammar
