// SPDX-License-Identifier: Apache-2.0
// Counts are capped, so that a repeat without end costs no more than a number.
#include "grammar/schema/texts.hpp"

#include <algorithm>
#include <map>

namespace bittern::grammar {
namespace {

/// Counts the texts of expressions and remembers the count of each rule.
class Counter {
 public:
  explicit Counter(const Grammar& grammar) : grammar_(grammar) {}

  /// So many different ones at least. Parts may overlap, so one part is varied, the best one.
  std::uint64_t Texts(ExprId id) {
    const Expr& expr = grammar_.expr(id);
    switch (expr.kind) {
      case Expr::Kind::kNothing:
        return 0;
      case Expr::Kind::kBytes:
        return 1;
      case Expr::Kind::kClass: {
        std::uint64_t count = 0;
        for (const CharRange& range : expr.ranges) count += range.last - range.first + 1;
        return count;
      }
      case Expr::Kind::kSequence: {
        std::uint64_t most = 1;
        for (const ExprId part : expr.parts) {
          const std::uint64_t count = Texts(part);
          if (count == 0) return 0;
          most = std::max(most, count);
        }
        return most;
      }
      case Expr::Kind::kChoice: {
        std::uint64_t most = 0;
        for (const ExprId part : expr.parts) most = std::max(most, Texts(part));
        return most;
      }
      case Expr::Kind::kRepeat:
        return Repeated(expr);
      case Expr::Kind::kRule:
        return OfRule(expr.rule);
    }
    return 0;
  }

  /// The least number of texts that the part marked kDiffers has, over all choices that have a
  /// text.
  std::uint64_t Fresh(ExprId id) {
    const Expr& expr = grammar_.expr(id);
    std::uint64_t found = 0;
    if (expr.kind == Expr::Kind::kSequence) {
      for (const ExprId part : expr.parts) found = std::max(found, Fresh(part));
    } else if (expr.kind == Expr::Kind::kChoice) {
      bool first = true;
      for (const ExprId part : expr.parts) {
        if (Texts(part) == 0) continue;
        found = first ? Fresh(part) : std::min(found, Fresh(part));
        first = false;
      }
    } else if (expr.kind == Expr::Kind::kRule) {
      const Grammar::Rule& rule = grammar_.rules()[expr.rule];
      if (!rule.defined) return 0;
      if (rule.mark == RuleMark::kDiffers) return Texts(rule.body);
      const auto [known, is_new] = fresh_.emplace(expr.rule, 0);
      if (!is_new) return known->second;
      found = Fresh(rule.body);
      fresh_[expr.rule] = found;
    }
    return found;
  }

 private:
  /// Only a repeat of single characters is counted exactly, as characters to the power of `most`.
  /// Of any other repeat the count is that of one part: two different splits may give the same
  /// text.
  std::uint64_t Repeated(const Expr& expr) {
    if (expr.most == 0) return 1;
    const std::uint64_t one = Texts(expr.parts[0]);
    if (one == 0) return expr.least == 0 ? 1 : 0;
    const Expr* part = &grammar_.expr(expr.parts[0]);
    if (part->kind == Expr::Kind::kChoice && !part->parts.empty()) {
      part = &grammar_.expr(part->parts[0]);  // characters that need no escape
    }
    if (part->kind != Expr::Kind::kClass) {
      return expr.most == kUnbounded && one > 1 ? kWithoutEnd : one;
    }
    if (expr.most == kUnbounded) return kWithoutEnd;
    std::uint64_t count = 1;
    std::uint64_t chars = 0;
    for (const CharRange& range : part->ranges) chars += range.last - range.first + 1;
    for (std::uint32_t i = 0; i < expr.most && count < kWithoutEnd; ++i) {
      if (chars < 2) break;
      count *= chars;
    }
    return std::min(count, kWithoutEnd);
  }

  /// A rule that calls itself counts as nothing inside itself, so the count ends and is too low at
  /// most.
  std::uint64_t OfRule(RuleId id) {
    const Grammar::Rule& rule = grammar_.rules()[id];
    if (!rule.defined) return 0;
    const auto [known, is_new] = texts_.emplace(id, 0);  // while it is counted, none
    if (!is_new) return known->second;
    const std::uint64_t found = Texts(rule.body);
    texts_[id] = found;
    return found;
  }

  const Grammar& grammar_;
  std::map<RuleId, std::uint64_t> texts_, fresh_;
};

/// Appends the texts of a choice of constants. False: there are more than kFew, or some part is no
/// constant. `depth` counts the rules on the way, since rules may call themselves.
bool AddTexts(const Grammar& grammar, ExprId id, int depth, std::vector<std::string>* texts) {
  constexpr std::size_t kFew = 300;
  const Expr& expr = grammar.expr(id);
  switch (expr.kind) {
    case Expr::Kind::kNothing:
      return true;
    case Expr::Kind::kBytes:
      texts->push_back(expr.bytes);
      return texts->size() <= kFew;
    case Expr::Kind::kChoice:
      return std::ranges::all_of(
          expr.parts, [&](ExprId part) { return AddTexts(grammar, part, depth, texts); });
    case Expr::Kind::kRule: {
      const Grammar::Rule& rule = grammar.rules()[expr.rule];
      return rule.defined && rule.mark == RuleMark::kNone && depth < 20 &&
             AddTexts(grammar, rule.body, depth + 1, texts);
    }
    default:
      return false;
  }
}

}  // namespace

std::optional<std::vector<std::string>> FewTexts(const Grammar& grammar, ExprId id) {
  std::vector<std::string> texts;
  if (!AddTexts(grammar, id, 0, &texts)) return std::nullopt;
  return texts;
}

std::uint64_t FreshTexts(const Grammar& grammar, ExprId id) { return Counter(grammar).Fresh(id); }

}  // namespace bittern::grammar
