// SPDX-License-Identifier: Apache-2.0
// Pages of earlier sequences, found by the tokens they hold: a radix tree whose edges are pages.
// A sequence that begins with known tokens shares their pages instead of computing them; since the
// keys and values of a position depend on the tokens before it and on nothing else, its bits are
// the same. Pages that no sequence uses are given back to the pool, least recently used first.
// Where the network has a recurrent state, a page is of use up to a position at which the state was
// kept: those copies lie beside the tokens that they stand behind.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "model/kv_pool.hpp"
#include "runtime/engine/prefix_cache_stats.hpp"
#include "tokenizer/tokenizer.hpp"

namespace bittern::runtime {

using tokenizer::TokenId;

/// Not thread-safe. `pool` outlives it.
class PrefixCache {
 public:
  /// Holds `max_pages` (>= 0) pages at most; 0 keeps nothing. Copies of recurrent states may take
  /// as much memory as the pages, and kLeastStates.
  PrefixCache(model::KvPool* pool, int max_pages);
  PrefixCache(const PrefixCache&) = delete;
  PrefixCache& operator=(const PrefixCache&) = delete;
  ~PrefixCache();

  /// Appends the pages of the longest known prefix of `tokens`, `limit` positions at most, to an
  /// empty sequence; with a recurrent state, up to the last one kept. Returns how many positions
  /// that are.
  int Attach(std::span<const TokenId> tokens, int limit, model::KvSequence* sequence);

  /// Keeps the pages of a sequence whose first positions hold `tokens`, and the states that it
  /// kept. Where the tokens are known already, the pages known stay.
  void Insert(std::span<const TokenId> tokens, const model::KvSequence& sequence);

  /// Gives up the least recently used page that no sequence uses. False if there is none.
  bool Evict();
  /// True if the cache holds the page, and none behind it that a sequence uses.
  [[nodiscard]] bool CanForget(std::uint32_t page) const noexcept;
  /// Gives up a page that a sequence wants to write into. False if the cache does not hold it, or
  /// holds one behind it: Evict takes those first.
  bool Forget(std::uint32_t page);
  /// Gives up the pages of the longest known prefix from its back on, until one has known pages
  /// behind it. Returns how many positions were known.
  int Erase(std::span<const TokenId> tokens);
  /// Pages that calls of Evict would free.
  [[nodiscard]] int evictable_pages() const noexcept;
  [[nodiscard]] PrefixCacheStats stats() const noexcept;

 private:
  static constexpr std::size_t kLeastStates = 4;
  struct Node {
    Node* parent = nullptr;
    std::uint32_t page = 0;
    std::vector<TokenId> tokens = {};  // kPagePositions of them, or fewer in a leaf
    std::unordered_multimap<TokenId, std::unique_ptr<Node>> children = {};  // by first token
    std::uint64_t used = 0;                                                 // tick of the last use
    std::vector<model::KeptState> states = {};  // within this page, by position
  };
  /// A way down the tree: each node shares all its tokens, but for the last one.
  struct Path {
    std::vector<Node*> nodes = {};
    std::size_t length = 0;  // positions in all
  };

  /// The child that shares most tokens with `tokens`, and how many; null if none shares any.
  static Node* BestChild(Node* node, std::span<const TokenId> tokens, std::size_t* common);
  Path Find(std::span<const TokenId> tokens);
  /// Adds the states that were kept within a page that ends at position `end`.
  void AddStates(Node* node, std::span<const model::KeptState> kept, std::size_t end);
  void LimitStates();
  Node* AddChild(Node* node, std::span<const TokenId> tokens, std::uint32_t page);
  void Remove(Node* node);
  /// Adds the nodes of a subtree that can be evicted, leaves first; true if all of it can.
  bool CountUnused(const Node& node, int* count) const noexcept;

  model::KvPool* pool_;
  int max_pages_;
  std::size_t max_states_;
  Node root_ = {};
  std::vector<Node*> nodes_ = {};  // all but the root, in no order
  std::uint64_t tick_ = 0;
  PrefixCacheStats stats_ = {};
};

}  // namespace bittern::runtime
