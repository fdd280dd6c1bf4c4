// SPDX-License-Identifier: Apache-2.0
// Expressions are built bottom-up; classes of characters are kept as sorted ranges.
#include "grammar/automaton/grammar.hpp"

#include <algorithm>
#include <utility>

namespace bittern::grammar {

/// Sorts the ranges and joins those that touch or overlap.
CharClass Normalised(CharClass ranges) {
  std::ranges::sort(ranges, {}, &CharRange::first);
  CharClass joined;
  for (const CharRange& range : ranges) {
    if (!joined.empty() && range.first <= joined.back().last + 1) {
      joined.back().last = std::max(joined.back().last, range.last);
    } else {
      joined.push_back(range);
    }
  }
  return joined;
}

/// All other characters up to kLastChar. The ranges must be normalised.
CharClass Complement(const CharClass& ranges) {
  CharClass others;
  char32_t next = 0;
  for (const CharRange& range : ranges) {
    if (range.first > next) others.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= kLastChar) others.push_back({next, kLastChar});
  return others;
}

ExprId Grammar::Add(Expr expr) {
  exprs_.push_back(std::move(expr));
  return static_cast<ExprId>(exprs_.size() - 1);
}

RuleId Grammar::AddRule(std::string name) {
  rules_.push_back({std::move(name)});
  return static_cast<RuleId>(rules_.size() - 1);
}

void Grammar::Define(RuleId rule, ExprId body) {
  rules_[rule].body = body;
  rules_[rule].defined = true;
}

ExprId Grammar::Nothing() { return Add({.kind = Expr::Kind::kNothing}); }

ExprId Grammar::Bytes(std::string_view bytes) {
  if (bytes.empty()) return Empty();
  return Add({.kind = Expr::Kind::kBytes, .bytes = std::string(bytes)});
}

ExprId Grammar::Class(CharClass ranges) {
  if (ranges.empty()) return Nothing();
  return Add({.kind = Expr::Kind::kClass, .ranges = std::move(ranges)});
}

/// Leaves empty texts out, so that a caller may put optional parts as Empty().
ExprId Grammar::Sequence(std::vector<ExprId> parts) {
  std::erase(parts, Empty());
  if (parts.empty()) return Empty();
  if (parts.size() == 1) return parts[0];
  return Add({.kind = Expr::Kind::kSequence, .parts = std::move(parts)});
}

ExprId Grammar::Choice(std::vector<ExprId> parts) {
  if (parts.empty()) return Nothing();
  if (parts.size() == 1) return parts[0];
  return Add({.kind = Expr::Kind::kChoice, .parts = std::move(parts)});
}

ExprId Grammar::Repeat(ExprId part, std::uint32_t least, std::uint32_t most) {
  if (most == 0 || part == Empty()) return Empty();
  if (least == 1 && most == 1) return part;
  return Add({.kind = Expr::Kind::kRepeat, .parts = {part}, .least = least, .most = most});
}

/// Puts the body into a rule of its own, since marks belong to rules.
ExprId Grammar::Marked(RuleMark mark, ExprId body) {
  const RuleId rule = AddRule(mark == RuleMark::kDiffers ? "differs" : "list-opens");
  Define(rule, body);
  rules_[rule].mark = mark;
  return Call(rule);
}

/// Copies all rules and expressions of `other`, their ids moved up, and calls its first rule.
ExprId Grammar::Embed(const Grammar& other) {
  const auto rules = static_cast<RuleId>(rules_.size());
  const auto exprs = static_cast<ExprId>(exprs_.size());
  for (const Rule& rule : other.rules_) {
    rules_.push_back({rule.name, rule.body + exprs, rule.defined, rule.mark});
  }
  for (Expr expr : other.exprs_) {
    for (ExprId& part : expr.parts) part += exprs;
    expr.rule += rules;
    exprs_.push_back(std::move(expr));
  }
  return Call(rules);
}

ExprId Grammar::Call(RuleId rule) { return Add({.kind = Expr::Kind::kRule, .rule = rule}); }

}  // namespace bittern::grammar
