// SPDX-License-Identifier: Apache-2.0
// The one form that GBNF, JSON schemas and regular expressions become: rules over classes of
// characters.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace bittern::grammar {

/// Unicode scalar values from first to last; surrogates between them are no characters.
struct CharRange {
  char32_t first, last;
  bool operator==(const CharRange&) const = default;
};
/// Ascending, disjoint, not touching.
using CharClass = std::vector<CharRange>;

inline constexpr char32_t kLastChar = 0x10ffff;

/// Puts ranges in order and joins those that touch.
[[nodiscard]] CharClass Normalised(CharClass ranges);
/// All other characters.
[[nodiscard]] CharClass Complement(const CharClass& ranges);

using ExprId = std::uint32_t;
using RuleId = std::uint32_t;
inline constexpr std::uint32_t kUnbounded = 0xffffffffu;

struct Expr {
  enum class Kind : std::uint8_t {
    kNothing,   ///< no text at all: it cannot be obeyed
    kBytes,     ///< these bytes
    kClass,     ///< one character of a class
    kSequence,  ///< parts one after the other; none: the empty text
    kChoice,    ///< one of the parts
    kRepeat,    ///< parts[0], least to most times
    kRule,      ///< a text of a rule
  };
  Kind kind = Kind::kSequence;
  std::string bytes = {};
  CharClass ranges = {};
  std::vector<ExprId> parts = {};
  std::uint32_t least = 0, most = 0;
  RuleId rule = 0;
};

/// A fact about a text beside the grammar: texts of one list that must differ.
enum class RuleMark : std::uint8_t {
  kNone,
  kListOpens,  ///< the bracket that begins a list whose texts differ
  kDiffers,    ///< a text, with its quotes, that is once in its list
};

/// Rules whose expressions lie in one list. Rule 0 is the root.
class Grammar {
 public:
  struct Rule {
    std::string name;
    ExprId body = 0;
    bool defined = false;
    RuleMark mark = RuleMark::kNone;
  };

  Grammar() : exprs_(1) {}

  /// A new rule without a body.
  RuleId AddRule(std::string name);
  void Define(RuleId rule, ExprId body);
  /// A new rule that is never written out in place: where it is read can be told.
  [[nodiscard]] ExprId Marked(RuleMark mark, ExprId body);

  [[nodiscard]] ExprId Empty() const noexcept { return 0; }
  [[nodiscard]] ExprId Nothing();
  [[nodiscard]] ExprId Bytes(std::string_view bytes);
  /// One character of a normalised class.
  [[nodiscard]] ExprId Class(CharClass ranges);
  [[nodiscard]] ExprId Sequence(std::vector<ExprId> parts);
  [[nodiscard]] ExprId Choice(std::vector<ExprId> parts);
  /// most may be kUnbounded.
  [[nodiscard]] ExprId Repeat(ExprId part, std::uint32_t least, std::uint32_t most);
  [[nodiscard]] ExprId Optional(ExprId part) { return Repeat(part, 0, 1); }
  [[nodiscard]] ExprId Call(RuleId rule);
  /// The texts of another grammar, whose rules are copied.
  [[nodiscard]] ExprId Embed(const Grammar& other);

  [[nodiscard]] std::span<const Rule> rules() const noexcept { return rules_; }
  [[nodiscard]] const Expr& expr(ExprId id) const noexcept { return exprs_[id]; }
  [[nodiscard]] std::size_t num_exprs() const noexcept { return exprs_.size(); }

 private:
  [[nodiscard]] ExprId Add(Expr expr);

  std::vector<Rule> rules_;
  std::vector<Expr> exprs_;
};

}  // namespace bittern::grammar
