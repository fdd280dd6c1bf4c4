// SPDX-License-Identifier: Apache-2.0
// Thompson's construction. Alternatives and parts without any text are left out, so that every
// node but the unreachable ones can go on to an end.
#include "grammar/automaton/nfa.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "grammar/automaton/analysis.hpp"
#include "grammar/automaton/utf8_ranges.hpp"

namespace bittern::grammar {

class NfaBuilder {
 public:
  NfaBuilder(const Grammar& grammar, Analysis analysis)
      : grammar_(grammar), analysis_(std::move(analysis)) {}

  Result<Nfa> Build() {
    nfa_.rules_.resize(grammar_.rules().size());
    wanted_ = {0};
    while (!wanted_.empty()) {
      const RuleId rule = wanted_.back();
      wanted_.pop_back();
      Nfa::RuleEnds& ends = nfa_.rules_[rule];
      if (ends.end != kNone) continue;
      StartOf(rule);
      ends.end = Node();
      const RuleMark mark = grammar_.rules()[rule].mark;
      if (mark != RuleMark::kNone) nfa_.marks_.emplace(ends.end, mark);
      depth_ = 0;
      Emit(grammar_.rules()[rule].body, ends.start, ends.end);
      if (full_) {
        return Fail(
            ErrorCode::kInvalidArgument,
            fmt::format("it is too large: its automaton has over {} nodes", Nfa::kMaxNodes));
      }
    }
    nfa_.MakeClasses();
    return std::move(nfa_);
  }

 private:
  static constexpr std::size_t kLargestInPlace = 400;
  static constexpr int kDeepestInPlace = 30;

  NodeId Node() {
    if (nfa_.first_.size() >= Nfa::kMaxNodes) full_ = true;
    if (full_) return 0;
    nfa_.first_.push_back(kNone);
    return static_cast<NodeId>(nfa_.first_.size() - 1);
  }
  NodeId StartOf(RuleId rule) {
    Nfa::RuleEnds& ends = nfa_.rules_[rule];
    if (ends.start == kNone) ends.start = Node();
    return ends.start;
  }
  void AddEdge(NodeId from, Edge edge) {
    if (full_) return;
    edge.next = nfa_.first_[from];
    nfa_.first_[from] = static_cast<std::uint32_t>(nfa_.edges_.size());
    nfa_.edges_.push_back(edge);
  }
  void Skip(NodeId from, NodeId to) { AddEdge(from, {.kind = Edge::Kind::kEmpty, .to = to}); }
  void Byte(NodeId from, ByteSpan span, NodeId to) {
    AddEdge(from, {.kind = Edge::Kind::kByte, .low = span.low, .high = span.high, .to = to});
  }

  void Emit(ExprId id, NodeId from, NodeId to);
  void EmitClass(const CharClass& ranges, NodeId from, NodeId to);
  void EmitRepeat(const Expr& expr, NodeId from, NodeId to);
  void EmitCall(RuleId rule, NodeId from, NodeId to);

  const Grammar& grammar_;
  Analysis analysis_;
  Nfa nfa_;
  std::vector<RuleId> wanted_;
  int depth_ = 0;  // of rules written out in place
  bool full_ = false;
};

/// Adds nodes and edges so that a text of the expression leads from `from` to `to`. An expression
/// that has no text at all adds nothing.
void NfaBuilder::Emit(ExprId id, NodeId from, NodeId to) {
  const Expr& expr = grammar_.expr(id);
  if (full_ || !IsProductive(grammar_, id, analysis_.productive)) return;
  switch (expr.kind) {
    case Expr::Kind::kNothing:
      return;
    case Expr::Kind::kBytes:
      for (std::size_t i = 0; i < expr.bytes.size(); ++i) {
        const NodeId next = i + 1 == expr.bytes.size() ? to : Node();
        const auto byte = static_cast<std::uint8_t>(expr.bytes[i]);
        Byte(from, {byte, byte}, next);
        from = next;
      }
      return;
    case Expr::Kind::kClass:
      return EmitClass(expr.ranges, from, to);
    case Expr::Kind::kSequence:
      for (const ExprId part : expr.parts) {
        const NodeId next = Node();
        Emit(part, from, next);
        from = next;
      }
      return Skip(from, to);
    case Expr::Kind::kChoice:
      for (const ExprId part : expr.parts) Emit(part, from, to);
      return;
    case Expr::Kind::kRepeat:
      return EmitRepeat(expr, from, to);
    case Expr::Kind::kRule:
      return EmitCall(expr.rule, from, to);
  }
}

/// Sequences that begin with the same spans share their first nodes.
void NfaBuilder::EmitClass(const CharClass& ranges, NodeId from, NodeId to) {
  std::vector<ByteSequence> sequences;
  for (const CharRange& range : ranges) AppendUtf8Sequences(range, &sequences);
  std::map<std::vector<std::uint32_t>, NodeId> after;  // spans that were read: the node
  for (const ByteSequence& sequence : sequences) {
    NodeId at = from;
    std::vector<std::uint32_t> read;
    for (std::size_t i = 0; i + 1 < sequence.size; ++i) {
      read.push_back(std::uint32_t{sequence.spans[i].low} << 8 | sequence.spans[i].high);
      const auto [known, is_new] = after.emplace(read, 0);
      if (is_new) {
        known->second = Node();
        Byte(at, sequence.spans[i], known->second);
      }
      at = known->second;
    }
    Byte(at, sequence.spans[sequence.size - 1], to);
  }
}

/// Writes the part out `least` times, then as a loop, or as many optional parts as `most` allows.
void NfaBuilder::EmitRepeat(const Expr& expr, NodeId from, NodeId to) {
  const ExprId part = expr.parts[0];
  const bool possible = IsProductive(grammar_, part, analysis_.productive);
  for (std::uint32_t i = 0; i < expr.least && !full_; ++i) {
    const NodeId next = Node();
    Emit(part, from, next);
    from = next;
  }
  if (expr.most == kUnbounded) {
    // A node of its own to come back to: `from` may have other edges.
    const NodeId loop = Node();
    Skip(from, loop);
    if (possible) Emit(part, loop, loop);
    return Skip(loop, to);
  }
  for (std::uint32_t i = expr.least; possible && i < expr.most && !full_; ++i) {
    Skip(from, to);
    const NodeId next = Node();
    Emit(part, from, next);
    from = next;
  }
  Skip(from, to);
}

/// Writes a small rule out in place; any other becomes a call edge. Rules with a mark stay rules,
/// since Automaton::InMarked finds the mark by the end of the rule.
void NfaBuilder::EmitCall(RuleId rule, NodeId from, NodeId to) {
  const bool in_place = grammar_.rules()[rule].mark == RuleMark::kNone &&
                        !analysis_.recursive[rule] && analysis_.size[rule] <= kLargestInPlace &&
                        depth_ < kDeepestInPlace;
  if (in_place) {
    // Nodes of its own: edges into a shared start would let a loop of one place enter another.
    const NodeId start = Node(), end = Node();
    Skip(from, start);
    ++depth_;
    Emit(grammar_.rules()[rule].body, start, end);
    --depth_;
    return Skip(end, to);
  }
  StartOf(rule);
  wanted_.push_back(rule);
  AddEdge(from, {.kind = Edge::Kind::kCall, .rule = rule, .to = to});
}

Result<Nfa> Nfa::Build(const Grammar& grammar) {
  Analysis analysis = BITTERN_TRY(Analyse(grammar));
  return NfaBuilder(grammar, std::move(analysis)).Build();
}

/// Groups bytes that no edge tells apart: the automaton's table has a column for each class only.
void Nfa::MakeClasses() {
  // A class ends wherever some edge begins or ends.
  std::array<bool, 257> cut{};
  for (const Edge& edge : edges_) {
    if (edge.kind != Edge::Kind::kByte) continue;
    cut[edge.low] = true;
    cut[std::size_t{edge.high} + 1] = true;
  }
  num_classes_ = 0;
  for (std::size_t byte = 0; byte < 256; ++byte) {
    if (byte == 0 || cut[byte]) samples_[num_classes_++] = static_cast<std::uint8_t>(byte);
    classes_[byte] = static_cast<std::uint8_t>(num_classes_ - 1);
  }
}

}  // namespace bittern::grammar
