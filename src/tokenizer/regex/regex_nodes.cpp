// SPDX-License-Identifier: Apache-2.0
// Built from the end to the start, since each node needs to know what comes after it.
#include "tokenizer/regex/regex_nodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace bittern::tokenizer {
namespace {

constexpr std::size_t kMaxNodes = 4096;

/// Builds the graph from the back: each part is made when the node that follows it is known.
class Builder {
 public:
  /// Node 0 is the match. Order then lists the nodes so that those that take no character come
  /// after the nodes they lead to.
  Result<RegexGraph> Run(const RegexTree& tree) {
    const NodeId match = BITTERN_TRY(Add({}));
    graph_.start = BITTERN_TRY(Emit(tree, match));
    state_.assign(graph_.nodes.size(), State::kNew);
    for (NodeId id = 0; id < graph_.nodes.size(); ++id) BITTERN_TRY(Order(id));
    return std::move(graph_);
  }

 private:
  enum class State : std::uint8_t { kNew, kOpen, kOrdered };

  Result<NodeId> Add(const RegexNode& node) {
    if (graph_.nodes.size() == kMaxNodes) {
      return Fail(ErrorCode::kUnsupported,
                  fmt::format("a regular expression of more than {} nodes", kMaxNodes));
    }
    graph_.nodes.push_back(node);
    return static_cast<NodeId>(graph_.nodes.size() - 1);
  }

  /// The number of a set; equal sets share one.
  std::uint32_t SetId(const CodePointSet& set) {
    const auto found = std::ranges::find(graph_.sets, set);
    if (found == graph_.sets.end()) {
      graph_.sets.push_back(set);
      return static_cast<std::uint32_t>(graph_.sets.size() - 1);
    }
    return static_cast<std::uint32_t>(found - graph_.sets.begin());
  }

  /// The node from which `tree` and then `next` are matched.
  Result<NodeId> Emit(const RegexTree& tree, NodeId next) {
    using Kind = RegexNode::Kind;
    switch (tree.kind) {
      case RegexTree::Kind::kSet:
        return Add({.kind = Kind::kSet, .set = SetId(tree.set), .next = next});
      case RegexTree::Kind::kConcat:
        for (auto part = tree.children.rbegin(); part != tree.children.rend(); ++part) {
          next = BITTERN_TRY(Emit(*part, next));
        }
        return next;
      case RegexTree::Kind::kAlternate:
        return EmitAlternatives(tree, next);
      case RegexTree::Kind::kRepeat:
        return EmitRepeat(tree, next);
      case RegexTree::Kind::kLook: {
        const NodeId match = BITTERN_TRY(Add({}));
        const NodeId inner = BITTERN_TRY(Emit(tree.children[0], match));
        return Add(
            {.kind = Kind::kLook, .negated = tree.negated, .set = 0, .next = next, .other = inner});
      }
      case RegexTree::Kind::kEnd:
        return Add({.kind = Kind::kEnd, .next = next});
      case RegexTree::Kind::kWordBoundary:
        return Add({.kind = Kind::kWordBoundary, .next = next});
    }
    return next;
  }

  /// A chain of forks that prefer the earlier alternative.
  Result<NodeId> EmitAlternatives(const RegexTree& tree, NodeId next) {
    NodeId rest = BITTERN_TRY(Emit(tree.children.back(), next));
    for (std::size_t i = tree.children.size() - 1; i-- > 0;) {
      const NodeId first = BITTERN_TRY(Emit(tree.children[i], next));
      rest = BITTERN_TRY(AddFork(first, rest, false));
    }
    return rest;
  }

  /// A choice of two ways, the first one preferred; `swapped` is for lazy repeats, which prefer to
  /// stop.
  Result<NodeId> AddFork(NodeId first, NodeId other, bool swapped) {
    if (swapped) std::swap(first, other);
    return Add({.kind = RegexNode::Kind::kFork, .next = first, .other = other});
  }

  /// The optional turns are made first, since they come last; then the `min` that must be.
  Result<NodeId> EmitRepeat(const RegexTree& tree, NodeId next) {
    const RegexTree& child = tree.children[0];
    NodeId rest = next;
    if (tree.max == RegexTree::kUnbounded) {
      rest = BITTERN_TRY(AddFork(next, next, false));  // its other branch is not there yet
      const NodeId body = BITTERN_TRY(Emit(child, rest));
      RegexNode& fork = graph_.nodes[rest];
      (tree.lazy ? fork.other : fork.next) = body;
    } else {
      for (int i = tree.min; i < tree.max; ++i) {
        const NodeId body = BITTERN_TRY(Emit(child, rest));
        rest = BITTERN_TRY(AddFork(body, next, tree.lazy));
      }
    }
    for (int i = 0; i < tree.min; ++i) rest = BITTERN_TRY(Emit(child, rest));
    return rest;
  }

  /// Depth first. The recursion is as deep as a chain of nodes that take no character, at most
  /// kMaxNodes.
  Result<void> Order(NodeId id) {
    const RegexNode& node = graph_.nodes[id];
    if (state_[id] == State::kOrdered) return {};
    if (state_[id] == State::kOpen) {
      return Fail(ErrorCode::kUnsupported,
                  "a regular expression that repeats what may be empty is not supported");
    }
    state_[id] = State::kOpen;
    const bool takes = node.kind == RegexNode::Kind::kSet || node.kind == RegexNode::Kind::kMatch;
    if (!takes) BITTERN_TRY(Order(node.next));
    if (node.kind == RegexNode::Kind::kFork || node.kind == RegexNode::Kind::kLook) {
      BITTERN_TRY(Order(node.other));
    }
    state_[id] = State::kOrdered;
    graph_.order.push_back(id);
    return {};
  }

  RegexGraph graph_;
  std::vector<State> state_;
};

}  // namespace

Result<RegexGraph> BuildGraph(const RegexTree& tree) { return Builder().Run(tree); }

}  // namespace bittern::tokenizer
