// SPDX-License-Identifier: Apache-2.0
// By recursive descent. An alternative ends with its line unless it stands in parentheses or the
// next line begins with '|'.
#include "grammar/notation/gbnf.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/utf8.hpp"

namespace bittern::grammar {
namespace {

constexpr int kDeepestGrammar = 150;
constexpr std::size_t kLargest = std::size_t{1} << 20;
constexpr std::uint32_t kMostGrammarTimes = 100'000;

bool IsNameChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

class GbnfReader {
 public:
  explicit GbnfReader(std::string_view text) : text_(text) {}

  Result<Grammar> Read() {
    if (text_.size() > kLargest) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("at most {} bytes expected, {} found", kLargest, text_.size()));
    }
    RuleOf("root");
    Skip(/*lines=*/true);
    while (at_ < text_.size()) {
      BITTERN_TRY(ReadRule());
      Skip(/*lines=*/true);
    }
    if (!grammar_.rules()[0].defined) {
      return Fail(ErrorCode::kInvalidArgument, "a rule named \"root\" expected, none found");
    }
    return std::move(grammar_);
  }

 private:
  [[nodiscard]] char Peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  /// The error at the present place, by line and column (in bytes), both from 1.
  tl::unexpected<Error> Expected(std::string_view what) const {
    const std::string_view before = text_.substr(0, at_);
    const auto line = 1 + std::ranges::count(before, '\n');
    const std::size_t begin =
        before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
    std::string found(text_.substr(at_, 12));
    found = found.substr(0, found.find('\n'));
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("line {}, column {}: {} expected, {} found", line, at_ - begin + 1, what,
                    at_ >= text_.size() ? "the end" : '"' + ReplaceInvalidUtf8(found) + '"'));
  }

  /// Over blanks and comments; over line ends, too, with `lines`.
  void Skip(bool lines) {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (c == ' ' || c == '\t' || c == '\r' || (lines && c == '\n')) {
        ++at_;
      } else {
        return;
      }
    }
  }

  /// The rule of a name, which may be called before it is defined.
  RuleId RuleOf(std::string_view name) {
    const auto [known, is_new] = rules_.emplace(name, 0);
    if (is_new) known->second = grammar_.AddRule(std::string(name));
    return known->second;
  }
  std::string_view Name() {
    const std::size_t begin = at_;
    while (IsNameChar(Peek())) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  /// name ::= choice, up to the end of the line.
  Result<void> ReadRule() {
    const std::string_view name = Name();
    if (name.empty()) return Expected("the name of a rule");
    const RuleId rule = RuleOf(name);
    if (grammar_.rules()[rule].defined) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("the rule \"{}\" is defined twice", name));
    }
    Skip(false);
    if (!text_.substr(at_).starts_with("::=")) return Expected("\"::=\"");
    at_ += 3;
    Skip(true);
    const ExprId body = BITTERN_TRY(ReadChoice(false, 0));
    grammar_.Define(rule, body);
    if (at_ < text_.size() && Peek() != '\n') return Expected("the end of the line");
    return {};
  }

  /// Alternatives between `|`. Inside ( ... ), which is `nested`, they may go over line ends; else
  /// a line end ends the rule unless the next line begins with `|`.
  Result<ExprId> ReadChoice(bool nested, int depth) {
    if (depth > kDeepestGrammar) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("it nests deeper than {} levels", kDeepestGrammar));
    }
    std::vector<ExprId> choices;
    for (;;) {
      choices.push_back(BITTERN_TRY(ReadSequence(nested, depth)));
      const std::size_t end = at_;
      Skip(true);
      if (Peek() != '|') {
        at_ = nested ? at_ : end;
        return grammar_.Choice(std::move(choices));
      }
      ++at_;
      Skip(true);
    }
  }

  /// Items with their repetitions, up to `|`, `)`, or a line end that is not inside ( ... ).
  Result<ExprId> ReadSequence(bool nested, int depth) {
    std::vector<ExprId> parts;
    for (;;) {
      Skip(nested);
      const char c = Peek();
      if (at_ >= text_.size() || c == '|' || c == ')' || c == '\n') break;
      const ExprId item = BITTERN_TRY(ReadItem(depth));
      parts.push_back(BITTERN_TRY(ReadTimes(item, nested)));
    }
    return grammar_.Sequence(std::move(parts));
  }

  /// A "text", a [class], `.`, ( ... ) or the name of a rule. llama.cpp's token items, <...> and
  /// !<...>, are refused: the automaton reads bytes.
  Result<ExprId> ReadItem(int depth) {
    const char c = Peek();
    if (c == '"') return ReadText();
    if (c == '[') return ReadClass();
    if (c == '.') {
      ++at_;
      return grammar_.Class({{0, kLastChar}});
    }
    if (c == '(') {
      ++at_;
      const ExprId inner = BITTERN_TRY(ReadChoice(true, depth + 1));
      if (Peek() != ')') return Expected("\")\"");
      ++at_;
      return inner;
    }
    if (c == '<' || c == '!') {
      return Fail(ErrorCode::kInvalidArgument,
                  "tokens (<...>) cannot stand in a grammar here: write the text itself");
    }
    const std::string_view name = Name();
    if (name.empty()) return Expected("a text, a class, a name or \"(\"");
    return grammar_.Call(RuleOf(name));
  }

  /// A code point of exactly so many digits; surrogates are refused, since UTF-8 has none.
  Result<char32_t> ReadHex(std::size_t digits) {
    char32_t value = 0;
    for (std::size_t i = 0; i < digits; ++i, ++at_) {
      const char c = Peek();
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) return Expected("a hexadecimal digit");
      value = value * 16 + static_cast<char32_t>(digit);
    }
    if (value > kLastChar || (value >= 0xd800 && value < 0xe000)) {
      return Expected("a character (no surrogate, at most 10FFFF)");
    }
    return value;
  }

  /// One character of a text or a class, escapes included.
  Result<char32_t> ReadChar() {
    if (Peek() != '\\') {
      if (at_ >= text_.size()) return Expected("a character");
      const Utf8Step step = DecodeUtf8(text_.substr(at_));
      if (!step.valid) return Expected("UTF-8");
      at_ += step.size;
      return step.code_point;
    }
    const char c = Peek(1);
    at_ += 2;
    switch (c) {
      case 'n':
        return U'\n';
      case 't':
        return U'\t';
      case 'r':
        return U'\r';
      case 'x':
        return ReadHex(2);
      case 'u':
        return ReadHex(4);
      case 'U':
        return ReadHex(8);
      case '\\':
      case '"':
      case '[':
      case ']':
      case '-':
      case '^':
        return static_cast<char32_t>(c);
      default:
        at_ -= 2;
        return Expected("an escape: \\n \\t \\r \\\\ \\\" \\[ \\] \\xHH \\uHHHH \\UHHHHHHHH");
    }
  }

  /// "..." as bytes.
  Result<ExprId> ReadText() {
    ++at_;
    std::string bytes;
    while (Peek() != '"' || at_ >= text_.size()) {
      if (at_ >= text_.size()) return Expected("'\"'");
      const char32_t c = BITTERN_TRY(ReadChar());
      AppendUtf8(c, &bytes);
    }
    ++at_;
    return grammar_.Bytes(bytes);
  }

  /// [...] or [^...]. A `-` at an end is a character.
  Result<ExprId> ReadClass() {
    ++at_;
    const bool negated = Peek() == '^';
    if (negated) ++at_;
    CharClass ranges;
    while (Peek() != ']' || at_ >= text_.size()) {
      if (at_ >= text_.size()) return Expected("\"]\"");
      const char32_t first = BITTERN_TRY(ReadChar());
      char32_t last = first;
      if (Peek() == '-' && Peek(1) != ']' && at_ + 1 < text_.size()) {
        ++at_;
        last = BITTERN_TRY(ReadChar());
        if (last < first) return Expected("a range in ascending order");
      }
      ranges.push_back({first, last});
    }
    ++at_;
    ranges = Normalised(std::move(ranges));
    return grammar_.Class(negated ? Complement(ranges) : std::move(ranges));
  }

  /// Digits of a count, nothing where there are none; stops growing just above the limit.
  std::optional<std::uint32_t> Number() {
    if (Peek() < '0' || Peek() > '9') return std::nullopt;
    std::uint32_t value = 0;
    for (; Peek() >= '0' && Peek() <= '9'; ++at_) {
      value =
          std::min(kMostGrammarTimes + 1, value * 10 + static_cast<std::uint32_t>(Peek() - '0'));
    }
    return value;
  }

  /// * + ? {m} {m,} {m,n} {,n} behind an item.
  Result<ExprId> ReadTimes(ExprId item, bool nested) {
    for (;;) {
      const std::size_t end = at_;
      Skip(nested);
      const char c = Peek();
      std::uint32_t least = 0, most = kUnbounded;
      if (c == '+') {
        least = 1;
      } else if (c == '?') {
        most = 1;
      } else if (c == '{') {
        ++at_;
        Skip(nested);
        const auto first = Number();
        Skip(nested);
        least = first.value_or(0);
        most = least;
        if (Peek() == ',') {
          ++at_;
          Skip(nested);
          most = Number().value_or(kUnbounded);
          Skip(nested);
        } else if (!first) {
          return Expected("a number of repetitions");
        }
        if (Peek() != '}') return Expected("\"}\"");
        if (least > most || least > kMostGrammarTimes ||
            (most != kUnbounded && most > kMostGrammarTimes)) {
          return Expected(
              fmt::format("least and most of at most {} repetitions", kMostGrammarTimes));
        }
      } else if (c != '*') {
        at_ = end;
        return item;
      }
      ++at_;
      item = grammar_.Repeat(item, least, most);
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  Grammar grammar_;
  std::map<std::string, RuleId, std::less<>> rules_;
};

}  // namespace

Result<Grammar> ParseGbnf(std::string_view text) { return GbnfReader(text).Read(); }

}  // namespace bittern::grammar
