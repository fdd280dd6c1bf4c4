// SPDX-License-Identifier: Apache-2.0
// Recursive descent: alternatives, sequences, repeats, atoms; sets have a small grammar of their
// own.
#include "tokenizer/regex/regex_syntax.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/text/display.hpp"
#include "base/utf8.hpp"

namespace bittern::tokenizer {
namespace {

using Kind = RegexTree::Kind;

CodePointSet One(char32_t c) { return CodePointSet({{c, c}}); }

RegexTree SetTree(CodePointSet set) {
  RegexTree tree;
  tree.kind = Kind::kSet;
  tree.set = std::move(set);
  return tree;
}

RegexTree Look(RegexTree child, bool negated) {
  RegexTree tree;
  tree.kind = Kind::kLook;
  tree.negated = negated;
  tree.children.push_back(std::move(child));
  return tree;
}

RegexTree Join(Kind kind, std::vector<RegexTree> children) {
  if (children.size() == 1) return std::move(children[0]);
  RegexTree tree;
  tree.kind = kind;
  tree.children = std::move(children);
  return tree;
}

int HexValue(char32_t c) {
  if (c >= '0' && c <= '9') return static_cast<int>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<int>(c - 'a') + 10;
  if (c >= 'A' && c <= 'F') return static_cast<int>(c - 'A') + 10;
  return -1;
}

class Parser {
 public:
  explicit Parser(std::string_view pattern) : pattern_(pattern) {}

  Result<RegexTree> Run() {
    if (ReplaceInvalidUtf8(pattern_) != pattern_) return Refuse("bytes that are not UTF-8");
    RegexTree tree = BITTERN_TRY(Alternatives());
    if (!AtEnd()) return Refuse("an unmatched )");
    return tree;
  }

 private:
  static constexpr int kMaxDepth = 32;
  static constexpr int kMaxRepeat = 1024;

  [[nodiscard]] bool AtEnd() const { return at_ == pattern_.size(); }
  [[nodiscard]] char32_t Peek() const {
    return AtEnd() ? U'\0' : DecodeUtf8(pattern_.substr(at_)).code_point;
  }
  char32_t Next() {
    const Utf8Step step = DecodeUtf8(pattern_.substr(at_));
    at_ += step.size;
    return step.code_point;
  }
  bool Accept(std::string_view text) {
    if (!pattern_.substr(at_).starts_with(text)) return false;
    at_ += text.size();
    return true;
  }
  [[nodiscard]] tl::unexpected<Error> Refuse(std::string_view what) const {
    return Fail(ErrorCode::kUnsupported,
                fmt::format("the regular expression {} has {} at byte {}, which is not supported",
                            Quoted(pattern_, 200), what, at_));
  }

  /// Up to ")" or the end. The depth is limited because all functions here recurse.
  Result<RegexTree> Alternatives() {
    if (++depth_ > kMaxDepth) return Refuse("groups nested too deeply");
    std::vector<RegexTree> choices;
    do {
      choices.push_back(BITTERN_TRY(Sequence()));
    } while (Accept("|"));
    --depth_;
    return Join(Kind::kAlternate, std::move(choices));
  }

  /// Atoms with their repeats, up to "|", ")" or the end.
  Result<RegexTree> Sequence() {
    std::vector<RegexTree> parts;
    while (!AtEnd() && Peek() != '|' && Peek() != ')') {
      RegexTree atom = BITTERN_TRY(Atom());
      parts.push_back(BITTERN_TRY(Repeated(std::move(atom))));
    }
    return Join(Kind::kConcat, std::move(parts));
  }

  /// The atom with the repeat behind it: * + ? {n} {n,} {n,m}, each perhaps lazy (?), the first
  /// three perhaps possessive (+).
  Result<RegexTree> Repeated(RegexTree atom) {
    RegexTree repeat;
    repeat.kind = Kind::kRepeat;
    const bool counted = Peek() == '{';
    if (Accept("*")) {
      repeat.min = 0;
    } else if (Accept("+")) {
      repeat.min = 1;
    } else if (Accept("?")) {
      repeat.max = 1;
    } else if (counted) {
      BITTERN_TRY(Count(&repeat));
    } else {
      return atom;
    }
    const bool possessive = !counted && Accept("+");
    if (!possessive) repeat.lazy = Accept("?");
    if (const char32_t c = Peek(); c == '*' || c == '+' || c == '?' || c == '{') {
      return Refuse("a repeat of a repeat");
    }
    if (atom.kind == Kind::kLook || atom.kind == Kind::kEnd || atom.kind == Kind::kWordBoundary) {
      return Refuse("a repeat of what takes no text");
    }
    if (possessive) return Possessive(std::move(repeat), std::move(atom));
    repeat.children.push_back(std::move(atom));
    return repeat;
  }

  /// x*+ is x*(?!x), and x?+ is (?:x|(?!x)), for one character x.
  Result<RegexTree> Possessive(RegexTree repeat, RegexTree atom) {
    if (atom.kind != Kind::kSet) return Refuse("a possessive repeat of more than one character");
    std::vector<RegexTree> parts;
    if (repeat.max == 1) {
      parts.push_back(atom);
      parts.push_back(Look(std::move(atom), true));
      return Join(Kind::kAlternate, std::move(parts));
    }
    repeat.children.push_back(atom);
    parts.push_back(std::move(repeat));
    parts.push_back(Look(std::move(atom), true));
    return Join(Kind::kConcat, std::move(parts));
  }

  /// {n}, {n,} or {n,m}.
  Result<void> Count(RegexTree* repeat) {
    Accept("{");
    const auto least = Number();
    if (!least) return Refuse("a { that begins no count");
    repeat->min = *least;
    repeat->max = *least;
    if (Accept(",")) repeat->max = Number().value_or(RegexTree::kUnbounded);
    const bool ordered = repeat->max == RegexTree::kUnbounded || repeat->max >= repeat->min;
    if (!Accept("}") || !ordered) return Refuse("a { that begins no count");
    return {};
  }

  /// Digits of a count; nothing where there are none, or more than kMaxRepeat.
  std::optional<int> Number() {
    if (Peek() < '0' || Peek() > '9') return std::nullopt;
    int value = 0;
    while (Peek() >= '0' && Peek() <= '9') {
      value = value * 10 + static_cast<int>(Next() - '0');
      if (value > kMaxRepeat) return std::nullopt;
    }
    return value;
  }

  /// A group, a set, an escape, a place or a character. `$` is the end or a place before any line
  /// feed; `.` is all but the line feed.
  Result<RegexTree> Atom() {
    if (Accept("(")) return Group();
    if (Accept("[")) return Folded(BITTERN_TRY(Set()));
    if (Accept(".")) return SetTree(One('\n').Complement());
    if (Accept("$")) {
      RegexTree end;
      end.kind = Kind::kEnd;
      return Join(Kind::kAlternate, {std::move(end), Look(SetTree(One('\n')), false)});
    }
    if (Accept("\\b") || Accept("\\z")) {
      RegexTree place;
      place.kind = pattern_[at_ - 1] == 'b' ? Kind::kWordBoundary : Kind::kEnd;
      return place;
    }
    if (Accept("\\")) return Folded(BITTERN_TRY(Escape()));
    const char32_t c = Peek();
    if (c == '*' || c == '+' || c == '?' || c == '{') return Refuse("a repeat of nothing");
    if (c == '^') return Refuse("^");
    return Folded(One(Next()));
  }

  /// After "(": (?: ), (?i: ), (?= ), (?! ) or ( ), which captures nothing. Look-behind is refused.
  Result<RegexTree> Group() {
    const bool outer = ignores_case_;
    bool look = false, negated = false;
    if (Accept("?i:")) {
      ignores_case_ = true;
    } else if (Accept("?=") || Accept("?!")) {
      look = true;
      negated = pattern_[at_ - 1] == '!';
    } else if (!Accept("?:") && Peek() == '?') {
      return Refuse("a group of an unknown kind");
    }
    RegexTree tree = BITTERN_TRY(Alternatives());
    ignores_case_ = outer;
    if (!Accept(")")) return Refuse("an unmatched (");
    if (look) return Look(std::move(tree), negated);
    return tree;
  }

  /// One character of `set`, or inside of (?i: ) of its other case.
  Result<RegexTree> Folded(CodePointSet set) {
    if (!ignores_case_) return SetTree(std::move(set));
    if (!set.ranges().empty() && set.ranges().back().last >= 0x80) {
      return Refuse("a character that is not ASCII where case is ignored");
    }
    return SetTree(set.WithAsciiCases());
  }

  /// After "[".
  Result<CodePointSet> Set() {
    if (++depth_ > kMaxDepth) return Refuse("sets nested too deeply");
    const bool negated = Accept("^");
    if (Peek() == ']') return Refuse("an empty set");
    CodePointSet all = BITTERN_TRY(SetItems());
    while (Accept("&&")) all = all.Intersection(BITTERN_TRY(SetItems()));
    if (!Accept("]")) return Refuse("an unmatched [");
    --depth_;
    return negated ? all.Complement() : all;
  }

  /// Up to "]" or "&&".
  Result<CodePointSet> SetItems() {
    std::vector<CodePointSet::Range> ranges;
    while (!AtEnd() && Peek() != ']' && !pattern_.substr(at_).starts_with("&&")) {
      if (pattern_.substr(at_).starts_with("[:")) return Refuse("a POSIX class");
      CodePointSet item;
      if (Accept("[")) {
        item = BITTERN_TRY(Set());
      } else {
        item = BITTERN_TRY(SetItem());
      }
      const auto& more = item.ranges();
      ranges.insert(ranges.end(), more.begin(), more.end());
    }
    return CodePointSet(std::move(ranges));
  }

  /// A character, a range, or an escape.
  Result<CodePointSet> SetItem() {
    CodePointSet first = One(0);
    if (Accept("\\")) {
      first = BITTERN_TRY(Escape());
    } else {
      first = One(Next());
    }
    const std::string_view rest = pattern_.substr(at_);
    const bool is_one =
        first.ranges().size() == 1 && first.ranges()[0].first == first.ranges()[0].last;
    if (!is_one || rest.size() < 2 || rest[0] != '-' || rest[1] == ']') return first;
    Accept("-");
    if (Peek() == '[') return Refuse("a range that ends in a set");
    CodePointSet last = One(0);
    if (Accept("\\")) {
      last = BITTERN_TRY(Escape());
    } else {
      last = One(Next());
    }
    const char32_t from = first.ranges()[0].first;
    const bool ends_in_one =
        last.ranges().size() == 1 && last.ranges()[0].first == last.ranges()[0].last;
    if (!ends_in_one || last.ranges()[0].first < from) return Refuse("a range without an end");
    return CodePointSet({{from, last.ranges()[0].first}});
  }

  /// After a backslash.
  Result<CodePointSet> Escape() {
    if (AtEnd()) return Refuse("a backslash at its end");
    const char32_t c = Next();
    switch (c) {
      case 's':
        return CodePointSet::WhiteSpace();
      case 'S':
        return CodePointSet::WhiteSpace().Complement();
      case 'd':
        return *CodePointSet::Property("Nd");
      case 'D':
        return CodePointSet::Property("Nd")->Complement();
      case 'w':
        return CodePointSet::Word();
      case 'W':
        return CodePointSet::Word().Complement();
      case 'p':
      case 'P':
        return Property(c == 'P');
      case 'r':
        return One('\r');
      case 'n':
        return One('\n');
      case 't':
        return One('\t');
      case 'f':
        return One('\f');
      case 'v':
        return One('\v');
      case 'x':
      case 'u':
        return Hex(c == 'x' ? 2 : 4);
      default:
        break;
    }
    const bool is_word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (is_word || c >= 0x80) return Refuse("an unknown escape");
    return One(c);
  }

  /// After \p: {Name}, {^Name} or one letter.
  Result<CodePointSet> Property(bool negated) {
    std::string_view name = pattern_.substr(at_, 1);
    std::size_t size = name.size();
    if (name == "{") {
      const std::size_t end = std::min(pattern_.find('}', at_), pattern_.size());
      name = pattern_.substr(at_ + 1, end - at_ - 1);
      size = std::min(name.size() + 2, pattern_.size() - at_);
    }
    if (name.starts_with('^')) {
      negated = !negated;
      name.remove_prefix(1);
    }
    auto set = CodePointSet::Property(name);
    if (!set) return Refuse("an unknown property");
    at_ += size;
    return negated ? set->Complement() : *std::move(set);
  }

  /// After \x or \u: `digits` hexadecimal digits, or any number of them in braces.
  Result<CodePointSet> Hex(int digits) {
    const bool braces = Accept("{");
    char32_t value = 0;
    int count = 0;
    for (; HexValue(Peek()) >= 0 && count < (braces ? 6 : digits); ++count) {
      value = value * 16 + static_cast<char32_t>(HexValue(Next()));
    }
    const bool whole = braces ? count > 0 && Accept("}") : count == digits;
    if (!whole || value > CodePointSet::kMax) return Refuse("an unknown escape");
    return One(value);
  }

  std::string_view pattern_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool ignores_case_ = false;
};

}  // namespace

Result<RegexTree> ParseRegex(std::string_view pattern) { return Parser(pattern).Run(); }

}  // namespace bittern::tokenizer
