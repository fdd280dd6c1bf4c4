// SPDX-License-Identifier: Apache-2.0
// Trees are small (a node is a page of 256 tokens, tens of megabytes at a real model's size), so
// eviction looks at every node instead of keeping an order.
#include "runtime/engine/prefix_cache.hpp"

#include <algorithm>

namespace bittern::runtime {
namespace {

constexpr auto kPage = static_cast<std::size_t>(model::kPagePositions);

std::size_t SharedPrefix(std::span<const TokenId> a, std::span<const TokenId> b) {
  const std::size_t most = std::min(a.size(), b.size());
  std::size_t i = 0;
  while (i < most && a[i] == b[i]) ++i;
  return i;
}

}  // namespace

PrefixCache::PrefixCache(model::KvPool* pool, int max_pages)
    : pool_(pool), max_pages_(max_pages), max_states_(kLeastStates) {
  const std::size_t state_bytes = pool->state_size() * sizeof(float);
  if (state_bytes == 0) return;
  max_states_ += static_cast<std::size_t>(max_pages) * pool->page_bytes() / state_bytes;
}

PrefixCache::~PrefixCache() {
  for (const Node* node : nodes_) pool_->Release(node->page);
}

PrefixCache::Node* PrefixCache::BestChild(Node* node, std::span<const TokenId> tokens,
                                          std::size_t* common) {
  Node* best = nullptr;
  *common = 0;
  if (tokens.empty()) return best;
  const auto [begin, end] = node->children.equal_range(tokens[0]);
  for (auto it = begin; it != end; ++it) {
    const std::size_t n = SharedPrefix(it->second->tokens, tokens);
    if (n <= *common) continue;
    best = it->second.get();
    *common = n;
  }
  return best;
}

/// Goes down the tree a page at a time.
PrefixCache::Path PrefixCache::Find(std::span<const TokenId> tokens) {
  Path path;
  Node* node = &root_;
  for (;;) {
    std::size_t common = 0;
    node = BestChild(node, tokens.subspan(path.length), &common);
    if (node == nullptr) return path;
    path.nodes.push_back(node);
    path.length += common;
    if (common < kPage) return path;
  }
}

/// The last page may be shared in part: the sequence then copies it before it writes.
int PrefixCache::Attach(std::span<const TokenId> tokens, int limit, model::KvSequence* sequence) {
  stats_.asked_tokens += tokens.size();
  const auto most = static_cast<std::size_t>(std::max(limit, 0));
  const Path path = Find(tokens.first(std::min(tokens.size(), most)));
  ++tick_;
  std::size_t found = path.length;
  model::KeptState state;
  if (sequence->recurrent()) {
    for (const Node* node : path.nodes) {
      for (const model::KeptState& kept : node->states) {
        if (static_cast<std::size_t>(kept.position) <= path.length) state = kept;
      }
    }
    found = static_cast<std::size_t>(state.position);
  }
  for (std::size_t i = 0; i * kPage < found; ++i) {
    path.nodes[i]->used = tick_;
    sequence->Append(path.nodes[i]->page, static_cast<int>(std::min(kPage, found - i * kPage)));
  }
  if (found != 0 && sequence->recurrent()) sequence->BeginWith(state);
  stats_.found_tokens += static_cast<std::uint64_t>(sequence->length());
  return sequence->length();
}

/// Goes down as far as the tokens are known and adds the pages behind. A leaf that the new page
/// goes beyond is replaced.
void PrefixCache::Insert(std::span<const TokenId> tokens, const model::KvSequence& sequence) {
  Node* node = &root_;
  ++tick_;
  for (std::size_t i = 0; i * kPage < tokens.size(); ++i) {
    const auto page_tokens = tokens.subspan(i * kPage, std::min(kPage, tokens.size() - i * kPage));
    const std::size_t end = i * kPage + page_tokens.size();
    const std::uint32_t page = sequence.pages()[i];
    std::size_t common = 0;
    Node* child = BestChild(node, page_tokens, &common);
    if (child != nullptr && common == page_tokens.size()) {
      child->used = tick_;  // known, perhaps with more tokens behind
      AddStates(child, sequence.kept(), end);
      if (common < kPage) return;
      node = child;
      continue;
    }
    std::vector<model::KeptState> states;
    if (child != nullptr && common == child->tokens.size()) {  // ours goes further
      states = std::move(child->states);
      Remove(child);
    }
    node = AddChild(node, page_tokens, page);
    if (node == nullptr) return;
    node->states = std::move(states);
    AddStates(node, sequence.kept(), end);
  }
}

void PrefixCache::AddStates(Node* node, std::span<const model::KeptState> kept, std::size_t end) {
  const std::size_t begin = (end - 1) / kPage * kPage;
  for (const model::KeptState& state : kept) {
    const auto position = static_cast<std::size_t>(state.position);
    if (position <= begin || position > end) continue;
    const auto at =
        std::ranges::lower_bound(node->states, state.position, {}, &model::KeptState::position);
    if (at != node->states.end() && at->position == state.position) continue;
    node->states.insert(at, state);
    LimitStates();
  }
}

/// Drops states of the node that was used least recently; of those used in one go the first ones,
/// since the last ones save most.
void PrefixCache::LimitStates() {
  for (;;) {
    std::size_t count = 0;
    Node* oldest = nullptr;
    for (Node* node : nodes_) {
      count += node->states.size();
      if (node->states.empty()) continue;
      const auto age = [](const Node* n) { return std::pair(n->used, n->states.front().position); };
      if (oldest == nullptr || age(node) < age(oldest)) oldest = node;
    }
    if (count <= max_states_) return;
    oldest->states.erase(oldest->states.begin());
  }
}

/// Adds a node, with a reference of its own to the page; null if there is no room for it.
PrefixCache::Node* PrefixCache::AddChild(Node* node, std::span<const TokenId> tokens,
                                         std::uint32_t page) {
  // The path to the new node was used just now, so it is not what eviction takes first; where
  // nothing else is left, the new page is not kept.
  while (static_cast<int>(nodes_.size()) >= max_pages_) {
    const bool path_is_all =
        std::ranges::all_of(nodes_, [&](const Node* other) { return other->used == tick_; });
    if (path_is_all || !Evict()) return nullptr;
  }
  auto child = std::make_unique<Node>();
  child->parent = node;
  child->page = page;
  child->tokens.assign(tokens.begin(), tokens.end());
  child->used = tick_;
  pool_->Share(page);
  Node* added = child.get();
  nodes_.push_back(added);
  node->children.emplace(tokens[0], std::move(child));
  return added;
}

/// Frees a leaf and gives back its reference to the page.
void PrefixCache::Remove(Node* node) {
  pool_->Release(node->page);
  nodes_.erase(std::ranges::find(nodes_, node));
  const auto [begin, end] = node->parent->children.equal_range(node->tokens[0]);
  for (auto it = begin; it != end; ++it) {
    if (it->second.get() != node) continue;
    node->parent->children.erase(it);  // frees the node
    return;
  }
}

/// Only leaves go, since a page is of no use without those before it. A page with more than the
/// cache's own reference is in use.
bool PrefixCache::Evict() {
  Node* oldest = nullptr;
  for (Node* node : nodes_) {
    if (!node->children.empty() || pool_->references(node->page) > 1) continue;
    if (oldest == nullptr || node->used < oldest->used) oldest = node;
  }
  if (oldest == nullptr) return false;
  Remove(oldest);
  return true;
}

bool PrefixCache::CanForget(std::uint32_t page) const noexcept {
  const auto it = std::ranges::find(nodes_, page, &Node::page);
  if (it == nodes_.end()) return false;
  int count = 0;
  return std::ranges::all_of((*it)->children,
                             [&](const auto& child) { return CountUnused(*child.second, &count); });
}

bool PrefixCache::Forget(std::uint32_t page) {
  const auto it = std::ranges::find_if(
      nodes_, [&](const Node* node) { return node->page == page && node->children.empty(); });
  if (it == nodes_.end()) return false;
  Remove(*it);
  return true;
}

int PrefixCache::Erase(std::span<const TokenId> tokens) {
  const Path path = Find(tokens);
  for (auto node = path.nodes.rbegin(); node != path.nodes.rend(); ++node) {
    if (!(*node)->children.empty()) break;
    Remove(*node);
  }
  return static_cast<int>(path.length);
}

int PrefixCache::evictable_pages() const noexcept {
  int count = 0;
  for (const auto& [first, child] : root_.children) (void)CountUnused(*child, &count);
  return count;
}

bool PrefixCache::CountUnused(const Node& node, int* count) const noexcept {
  bool unused = pool_->references(node.page) == 1;
  for (const auto& [first, child] : node.children) unused &= CountUnused(*child, count);
  if (unused) ++*count;
  return unused;
}

PrefixCacheStats PrefixCache::stats() const noexcept {
  PrefixCacheStats stats = stats_;
  stats.pages = static_cast<int>(nodes_.size());
  for (const Node* node : nodes_) stats.states += static_cast<int>(node->states.size());
  stats.bytes = nodes_.size() * pool_->page_bytes() +
                static_cast<std::size_t>(stats.states) * pool_->state_size() * sizeof(float);
  return stats;
}

}  // namespace bittern::runtime
