// SPDX-License-Identifier: Apache-2.0
// Expressions nest at most as deep as the readers allow, so functions over them recurse; rules call
// each other in chains of any length, so functions over those do not.
#include "grammar/automaton/analysis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace bittern::grammar {
namespace {

using Kind = Expr::Kind;

/// True if the empty text is one of the expression, by what is known of the rules so far.
bool IsNullable(const Grammar& grammar, ExprId id, const std::vector<bool>& nullable) {
  const Expr& expr = grammar.expr(id);
  const auto of_part = [&](ExprId part) { return IsNullable(grammar, part, nullable); };
  switch (expr.kind) {
    case Kind::kSequence:
      return std::ranges::all_of(expr.parts, of_part);
    case Kind::kChoice:
      return std::ranges::any_of(expr.parts, of_part);
    case Kind::kRepeat:
      return expr.least == 0 || of_part(expr.parts[0]);
    case Kind::kRule:
      return nullable[expr.rule];
    default:
      return false;
  }
}

/// Appends the rules that a text of the expression may begin with; all that it may contain with
/// `anywhere`.
void Calls(const Grammar& grammar, ExprId id, const std::vector<bool>& nullable, bool anywhere,
           std::vector<RuleId>* calls) {
  const Expr& expr = grammar.expr(id);
  if (expr.kind == Kind::kRule) calls->push_back(expr.rule);
  for (const ExprId part : expr.parts) {
    Calls(grammar, part, nullable, anywhere, calls);
    if (expr.kind == Kind::kSequence && !anywhere && !IsNullable(grammar, part, nullable)) return;
  }
}

/// Rules of a fixed point: true as soon as `test` of the body says so.
std::vector<bool> FixedPoint(const Grammar& grammar,
                             const std::function<bool(ExprId, const std::vector<bool>&)>& test) {
  const auto rules = grammar.rules();
  std::vector<bool> known(rules.size(), false);
  // Callers of each rule, so that a chain of rules costs no more than its length.
  std::vector<std::vector<RuleId>> callers(rules.size());
  std::vector<RuleId> work, calls;
  for (RuleId rule = 0; rule < rules.size(); ++rule) {
    calls.clear();
    Calls(grammar, rules[rule].body, known, true, &calls);
    for (const RuleId callee : calls) callers[callee].push_back(rule);
    work.push_back(rule);
  }
  while (!work.empty()) {
    const RuleId rule = work.back();
    work.pop_back();
    if (known[rule] || !test(rules[rule].body, known)) continue;
    known[rule] = true;
    work.insert(work.end(), callers[rule].begin(), callers[rule].end());
  }
  return known;
}

/// Visits the rules that can be reached from `root`, callees before callers where there is no
/// cycle, and tells each pair (caller, callee) whose callee is still open: a cycle.
void WalkRules(const std::vector<std::vector<RuleId>>& calls,
               const std::function<void(RuleId)>& on_done,
               const std::function<void(RuleId, RuleId)>& on_cycle) {
  enum class Mark : std::uint8_t { kNew, kOpen, kDone };
  std::vector<Mark> marks(calls.size(), Mark::kNew);
  struct Visit {
    RuleId rule;
    std::size_t next;
  };
  for (RuleId root = 0; root < calls.size(); ++root) {
    if (marks[root] != Mark::kNew) continue;
    std::vector<Visit> open = {{root, 0}};
    marks[root] = Mark::kOpen;
    while (!open.empty()) {
      Visit& visit = open.back();
      if (visit.next == calls[visit.rule].size()) {
        marks[visit.rule] = Mark::kDone;
        on_done(visit.rule);
        open.pop_back();
        continue;
      }
      const RuleId callee = calls[visit.rule][visit.next++];
      if (marks[callee] == Mark::kOpen) on_cycle(visit.rule, callee);
      if (marks[callee] != Mark::kNew) continue;
      marks[callee] = Mark::kOpen;
      open.push_back({callee, 0});
    }
  }
}

/// Automaton nodes of an expression; rules not yet known count as kHuge.
std::size_t SizeOf(const Grammar& grammar, ExprId id, const std::vector<std::size_t>& sizes) {
  const Expr& expr = grammar.expr(id);
  std::size_t total = 2 + expr.bytes.size() + 6 * expr.ranges.size();
  if (expr.kind == Kind::kRule) total += sizes[expr.rule];
  for (const ExprId part : expr.parts) total += SizeOf(grammar, part, sizes);
  if (expr.kind == Kind::kRepeat) {
    const std::uint32_t times = expr.most == kUnbounded ? expr.least + 1 : expr.most;
    total *= std::max<std::size_t>(times, 1);
  }
  return std::min(total, Analysis::kHuge);
}

/// Error kInvalidArgument names the first rule that is called but has no body.
Result<void> CheckDefined(const Grammar& grammar) {
  for (const Grammar::Rule& rule : grammar.rules()) {
    if (rule.defined) continue;
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("the rule \"{}\" is used and not defined", rule.name));
  }
  return {};
}

/// The rules that are in a cycle: those whose own strongly connected component has an edge. By
/// Kosaraju's algorithm.
std::vector<bool> Recursive(const std::vector<std::vector<RuleId>>& calls) {
  const std::size_t size = calls.size();
  std::vector<RuleId> order;
  WalkRules(calls, [&](RuleId rule) { order.push_back(rule); }, [](RuleId, RuleId) {});
  std::vector<std::vector<RuleId>> callers(size);
  for (RuleId rule = 0; rule < size; ++rule) {
    for (const RuleId callee : calls[rule]) callers[callee].push_back(rule);
  }
  std::vector<bool> recursive(size, false), seen(size, false);
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    if (seen[*it]) continue;
    std::vector<RuleId> component = {*it};
    seen[*it] = true;
    for (std::size_t i = 0; i < component.size(); ++i) {
      for (const RuleId caller : callers[component[i]]) {
        if (seen[caller]) continue;
        seen[caller] = true;
        component.push_back(caller);
      }
    }
    const RuleId first = component[0];
    const bool calls_itself = std::ranges::find(calls[first], first) != calls[first].end();
    for (const RuleId rule : component) recursive[rule] = component.size() > 1 || calls_itself;
  }
  return recursive;
}

}  // namespace

bool IsProductive(const Grammar& grammar, ExprId id, const std::vector<bool>& productive) {
  const Expr& expr = grammar.expr(id);
  const auto of_part = [&](ExprId part) { return IsProductive(grammar, part, productive); };
  switch (expr.kind) {
    case Kind::kNothing:
      return false;
    case Kind::kSequence:
      return std::ranges::all_of(expr.parts, of_part);
    case Kind::kChoice:
      return std::ranges::any_of(expr.parts, of_part);
    case Kind::kRepeat:
      return expr.least == 0 || of_part(expr.parts[0]);
    case Kind::kRule:
      return productive[expr.rule];
    default:
      return true;
  }
}

Result<Analysis> Analyse(const Grammar& grammar) {
  BITTERN_TRY(CheckDefined(grammar));
  const auto rules = grammar.rules();
  Analysis found;
  found.productive = FixedPoint(grammar, [&](ExprId body, const std::vector<bool>& known) {
    return IsProductive(grammar, body, known);
  });
  if (rules.empty() || !found.productive[0]) {
    return Fail(ErrorCode::kInvalidArgument, "it allows no text at all");
  }
  found.nullable = FixedPoint(grammar, [&](ExprId body, const std::vector<bool>& known) {
    return IsNullable(grammar, body, known);
  });
  std::vector<std::vector<RuleId>> begins(rules.size()), calls(rules.size());
  for (RuleId rule = 0; rule < rules.size(); ++rule) {
    Calls(grammar, rules[rule].body, found.nullable, false, &begins[rule]);
    Calls(grammar, rules[rule].body, found.nullable, true, &calls[rule]);
  }
  const Grammar::Rule* left = nullptr;
  WalkRules(begins, [](RuleId) {}, [&](RuleId, RuleId callee) { left = &rules[callee]; });
  if (left != nullptr) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("the rule \"{}\" may begin with itself (left recursion); write it as a "
                            "repetition",
                            left->name));
  }
  found.recursive = Recursive(calls);
  found.size.assign(rules.size(), Analysis::kHuge);
  WalkRules(
      calls, [&](RuleId rule) { found.size[rule] = SizeOf(grammar, rules[rule].body, found.size); },
      [](RuleId, RuleId) {});
  return found;
}

}  // namespace bittern::grammar
