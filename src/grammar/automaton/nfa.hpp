// SPDX-License-Identifier: Apache-2.0
// The rules of a grammar as automata over bytes (UTF-8), one beside the other in one list of nodes.
// An edge reads a byte, reads nothing, or reads a text of another rule. Rules that are small and
// not recursive are written out in place, so that what is a word in the grammar is read without a
// stack.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "grammar/automaton/grammar.hpp"

namespace bittern::grammar {

using NodeId = std::uint32_t;
inline constexpr std::uint32_t kNone = 0xffffffffu;

struct Edge {
  enum class Kind : std::uint8_t { kByte, kEmpty, kCall };
  Kind kind;
  std::uint8_t low = 0, high = 0;  ///< kByte: the bytes from low to high
  RuleId rule = 0;                 ///< kCall
  NodeId to = 0;
  std::uint32_t next = kNone;  ///< the next edge of the same node
};

/// Immutable after Build.
class Nfa {
 public:
  struct RuleEnds {
    NodeId start = kNone, end = kNone;  ///< kNone: the rule is never called
  };
  static constexpr std::size_t kMaxNodes = 400'000;

  /// Errors kInvalidArgument: a rule that is used and not defined, a rule that may begin with
  /// itself (left recursion), a grammar that allows no text at all or has more than kMaxNodes
  /// nodes.
  [[nodiscard]] static Result<Nfa> Build(const Grammar& grammar);

  [[nodiscard]] const RuleEnds& rule(RuleId id) const noexcept { return rules_[id]; }
  /// The mark of the rule that ends at a node.
  [[nodiscard]] RuleMark mark_of_end(NodeId end) const noexcept {
    const auto found = marks_.find(end);
    return found == marks_.end() ? RuleMark::kNone : found->second;
  }
  [[nodiscard]] bool has_marks() const noexcept { return !marks_.empty(); }
  [[nodiscard]] std::size_t num_nodes() const noexcept { return first_.size(); }
  /// Calls visit(edge) for the edges of a node.
  template <class Visit>
  void ForEachEdge(NodeId node, const Visit& visit) const {
    for (std::uint32_t e = first_[node]; e != kNone; e = edges_[e].next) visit(edges_[e]);
  }
  /// Bytes that no edge tells apart have the same class, 0..num_classes() - 1.
  [[nodiscard]] std::uint8_t byte_class(std::uint8_t byte) const noexcept { return classes_[byte]; }
  [[nodiscard]] std::size_t num_classes() const noexcept { return num_classes_; }
  /// A byte of each class.
  [[nodiscard]] std::uint8_t byte_of_class(std::size_t c) const noexcept { return samples_[c]; }

 private:
  friend class NfaBuilder;
  void MakeClasses();

  std::vector<std::uint32_t> first_;  // of each node: its first edge
  std::vector<Edge> edges_;
  std::vector<RuleEnds> rules_;
  std::unordered_map<NodeId, RuleMark> marks_;  // by the ends of marked rules
  std::array<std::uint8_t, 256> classes_{}, samples_{};
  std::size_t num_classes_ = 0;
};

}  // namespace bittern::grammar
