// SPDX-License-Identifier: Apache-2.0
// A recursive descent over the pattern: choice, sequence, item, repeat. It builds expressions of
// the grammar at once, without a tree of its own.
#include "grammar/notation/regex.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/utf8.hpp"
#include "grammar/notation/json_text.hpp"

namespace bittern::grammar {
namespace {

// Limits for patterns from strangers: levels of groups, bytes, and counts in {least,most}.
constexpr int kDeepestPattern = 100;
constexpr std::size_t kLongest = 20'000;
constexpr std::uint32_t kMostPatternTimes = 10'000;

CharClass Digits() { return {{U'0', U'9'}}; }
CharClass WordChars() { return {{U'0', U'9'}, {U'A', U'Z'}, {U'_', U'_'}, {U'a', U'z'}}; }
/// WhiteSpace and LineTerminator of ECMA-262.
CharClass Spaces() {
  return {{0x09, 0x0d},     {0x20, 0x20},     {0xa0, 0xa0},     {0x1680, 0x1680}, {0x2000, 0x200a},
          {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000}, {0xfeff, 0xfeff}};
}
CharClass AnyButLineEnds() { return Complement({{0x0a, 0x0a}, {0x0d, 0x0d}, {0x2028, 0x2029}}); }
CharClass AnyChar() { return {{0, kLastChar}}; }

/// The class of `\d`, `\w`, `\s` and their contraries (ECMA-262, CharacterClassEscape), ASCII only
/// for \d and \w; nothing for other letters.
std::optional<CharClass> ClassOfLetter(char letter) {
  switch (letter) {
    case 'd':
      return Digits();
    case 'D':
      return Complement(Digits());
    case 'w':
      return WordChars();
    case 'W':
      return Complement(WordChars());
    case 's':
      return Spaces();
    case 'S':
      return Complement(Spaces());
    default:
      return std::nullopt;
  }
}

/// Reads one pattern. at_ is the place of the next byte that is not read yet.
class RegexReader {
 public:
  RegexReader(std::string_view text, const RegexOptions& options, Grammar* grammar)
      : text_(text), options_(options), grammar_(*grammar) {}

  Result<ExprId> Read() {
    if (text_.size() > kLongest) {
      return Fail(
          ErrorCode::kInvalidArgument,
          fmt::format("a pattern of at most {} bytes expected, {} found", kLongest, text_.size()));
    }
    const ExprId whole = BITTERN_TRY(ReadChoice(0));
    if (at_ < text_.size()) return Expected("the end of the pattern");
    return whole;
  }

 private:
  [[nodiscard]] char Peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  [[nodiscard]] bool Take(std::string_view what) {
    if (!text_.substr(at_).starts_with(what)) return false;
    at_ += what.size();
    return true;
  }
  tl::unexpected<Error> Expected(std::string_view what) const {
    const auto found = ReplaceInvalidUtf8(text_.substr(std::min(at_, text_.size()), 8));
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("place {} of the pattern: {} expected, {} found", at_ + 1, what,
                            found.empty() ? "the end" : '"' + found + '"'));
  }
  /// The error for what ECMAScript has and an automaton cannot obey.
  tl::unexpected<Error> NotRegular(std::string_view what) const {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("place {} of the pattern: {} cannot be used here", at_ + 1, what));
  }
  /// One character of a class; with options_.json as it stands in a JSON string.
  ExprId Chars(const CharClass& chars) {
    if (!options_.json) return grammar_.Class(chars);
    // Often the same class many times: its escapes are written once.
    for (const auto& [known, id] : json_chars_) {
      if (known == chars) return id;
    }
    json_chars_.emplace_back(chars, JsonChars(chars, &grammar_));
    return json_chars_.back().second;
  }
  ExprId Anything() { return grammar_.Repeat(Chars(AnyChar()), 0, kUnbounded); }

  /// depth 0: the pattern itself, whose alternatives may have anchors.
  Result<ExprId> ReadChoice(int depth) {
    if (depth > kDeepestPattern) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("the pattern nests deeper than {} levels", kDeepestPattern));
    }
    std::vector<ExprId> choices;
    do {
      choices.push_back(BITTERN_TRY(ReadSequence(depth)));
    } while (Take("|"));
    return grammar_.Choice(std::move(choices));
  }

  /// One alternative. A pattern that is searched for may have any text before and behind it, unless
  /// `^` or `$` stands there.
  Result<ExprId> ReadSequence(int depth) {
    std::vector<ExprId> parts;
    bool from_start = false, to_end = false;
    // `^` is understood where an alternative of the whole begins, `$` where it ends.
    const bool may_anchor = depth == 0;
    if (may_anchor && Take("^")) from_start = true;
    while (at_ < text_.size() && Peek() != '|' && Peek() != ')') {
      if (Peek() == '$') {
        if (!may_anchor || !(at_ + 1 == text_.size() || Peek(1) == '|')) {
          return NotRegular("\"$\" before the end");
        }
        ++at_;
        to_end = true;
        break;
      }
      if (Peek() == '^') return NotRegular("\"^\" behind the beginning");
      const ExprId item = BITTERN_TRY(ReadItem(depth));
      parts.push_back(BITTERN_TRY(ReadTimes(item)));
    }
    if (depth == 0 && options_.search) {
      if (!from_start) parts.insert(parts.begin(), Anything());
      if (!to_end) parts.push_back(Anything());
    }
    return grammar_.Sequence(std::move(parts));
  }

  /// A group, a class, `.`, an escape or a character, without the repetition behind it.
  Result<ExprId> ReadItem(int depth) {
    const char c = Peek();
    if (c == '(') return ReadGroup(depth);
    if (c == '[') return ReadClass();
    if (c == '.') {
      ++at_;
      return Chars(AnyButLineEnds());
    }
    if (c == '*' || c == '+' || c == '?') return Expected("something to repeat");
    if (c == '\\') {
      const auto letter = ClassOfLetter(Peek(1));
      if (letter) {
        at_ += 2;
        return Chars(*letter);
      }
      if (Peek(1) == 'b' || Peek(1) == 'B') return NotRegular("a word boundary");
      if (Peek(1) == 'p' || Peek(1) == 'P') return NotRegular("a Unicode property");
      if (Peek(1) >= '1' && Peek(1) <= '9') return NotRegular("a back reference");
      if (Peek(1) == 'k') return NotRegular("a back reference");
    }
    const char32_t character = BITTERN_TRY(ReadChar(false));
    return Chars({{character, character}});
  }

  /// ( ... ), (?: ... ) and (?<name> ... ) are the same here, since nothing is captured.
  Result<ExprId> ReadGroup(int depth) {
    ++at_;
    if (Take("?:")) {
    } else if (text_.substr(at_).starts_with("?<") && Peek(2) != '=' && Peek(2) != '!') {
      while (at_ < text_.size() && Peek() != '>') ++at_;
      if (!Take(">")) return Expected("\">\"");
    } else if (Peek() == '?') {
      return NotRegular(Peek(1) == '=' || Peek(1) == '!' || Peek(1) == '<' ? "look-around"
                                                                           : "this kind of group");
    }
    const ExprId inner = BITTERN_TRY(ReadChoice(depth + 1));
    if (!Take(")")) return Expected("\")\"");
    return inner;
  }

  /// A code point of exactly so many digits. Surrogates are refused, pairs of them included.
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
      return Expected("a character that is no surrogate");
    }
    return value;
  }

  /// One character or escape. `\b` is a backspace inside [ ... ] only. Unknown escapes of letters
  /// and digits are errors, as with ECMAScript's flag u; other escaped characters stand for
  /// themselves.
  Result<char32_t> ReadChar(bool in_class) {
    if (Peek() != '\\') {
      const Utf8Step step = DecodeUtf8(text_.substr(at_));
      if (!step.valid) return Expected("UTF-8");
      at_ += step.size;
      return step.code_point;
    }
    if (at_ + 1 >= text_.size()) return Expected("a character behind \"\\\"");
    const char c = Peek(1);
    at_ += 2;
    switch (c) {
      case 'n':
        return U'\n';
      case 't':
        return U'\t';
      case 'r':
        return U'\r';
      case 'f':
        return U'\f';
      case 'v':
        return U'\v';
      case '0':
        return U'\0';
      case 'x':
        return ReadHex(2);
      case 'u':
        if (Take("{")) {
          const std::size_t end = text_.find('}', at_);
          if (end == std::string_view::npos || end - at_ > 6 || end == at_)
            return Expected("\"}\"");
          const char32_t value = BITTERN_TRY(ReadHex(end - at_));
          ++at_;
          return value;
        }
        return ReadHex(4);
      case 'b':
        if (in_class) return U'\b';
        break;
      default:
        break;
    }
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '1' && c <= '9');
    if (letter) {
      at_ -= 2;
      return Expected("a known escape");
    }
    --at_;
    const Utf8Step step = DecodeUtf8(text_.substr(at_));
    if (!step.valid) return Expected("UTF-8");
    at_ += step.size;
    return step.code_point;
  }

  /// [ ... ] or [^ ... ]. A `-` at an end, or before a class such as `\d`, is a character.
  Result<ExprId> ReadClass() {
    ++at_;
    const bool negated = Take("^");
    CharClass ranges;
    while (Peek() != ']' || at_ >= text_.size()) {
      if (at_ >= text_.size()) return Expected("\"]\"");
      if (Peek() == '\\') {
        if (const auto letter = ClassOfLetter(Peek(1))) {
          ranges.insert(ranges.end(), letter->begin(), letter->end());
          at_ += 2;
          continue;
        }
        if (Peek(1) == 'p' || Peek(1) == 'P') return NotRegular("a Unicode property");
      }
      const char32_t first = BITTERN_TRY(ReadChar(true));
      char32_t last = first;
      const bool range = Peek() == '-' && Peek(1) != ']' && at_ + 1 < text_.size() &&
                         !(Peek(1) == '\\' && ClassOfLetter(Peek(2)));
      if (range) {
        ++at_;
        last = BITTERN_TRY(ReadChar(true));
        if (last < first) return Expected("a range in ascending order");
      }
      ranges.push_back({first, last});
    }
    ++at_;
    ranges = Normalised(std::move(ranges));
    return Chars(negated ? Complement(ranges) : ranges);
  }

  /// Digits of a count, nothing where there are none; stops growing just above the limit.
  std::optional<std::uint32_t> Number() {
    if (Peek() < '0' || Peek() > '9') return std::nullopt;
    std::uint32_t value = 0;
    for (; Peek() >= '0' && Peek() <= '9'; ++at_) {
      value =
          std::min(kMostPatternTimes + 1, value * 10 + static_cast<std::uint32_t>(Peek() - '0'));
    }
    return value;
  }

  /// The item with the repetition that follows it: * + ? {n} {n,} {n,m}, greedy or lazy.
  Result<ExprId> ReadTimes(ExprId item) {
    std::uint32_t least = 0, most = kUnbounded;
    const std::size_t begin = at_;
    if (Take("*")) {
    } else if (Take("+")) {
      least = 1;
    } else if (Take("?")) {
      most = 1;
    } else if (Take("{")) {
      const auto first = Number();
      if (!first) {  // "{" that is no repetition is itself
        at_ = begin;
        return item;
      }
      least = most = *first;
      if (Take(",")) most = Number().value_or(kUnbounded);
      if (!Take("}")) return Expected("\"}\"");
      if (least > most || least > kMostPatternTimes ||
          (most != kUnbounded && most > kMostPatternTimes)) {
        at_ = begin;  // the error shows the repetition
        return Expected(fmt::format("least and most of at most {} repetitions", kMostPatternTimes));
      }
    } else {
      return item;
    }
    // Which of the matching texts is preferred does not matter.
    if (Peek() == '?') ++at_;
    if (Peek() == '*' || Peek() == '+' || Peek() == '?') return Expected("no second repetition");
    return grammar_.Repeat(item, least, most);
  }

  std::string_view text_;
  RegexOptions options_;
  Grammar& grammar_;
  std::size_t at_ = 0;
  std::vector<std::pair<CharClass, ExprId>> json_chars_;
};

/// Whether ( ... ) around the whole of a pattern may be left out: "(^a$|^b$)".
std::string_view WithoutWholeGroup(std::string_view pattern) {
  for (;;) {
    std::string_view inner = pattern;
    if (inner.starts_with("(?:")) {
      inner.remove_prefix(3);
    } else if (inner.starts_with("(") && !inner.starts_with("(?")) {
      inner.remove_prefix(1);
    } else {
      return pattern;
    }
    int open = 1;
    bool in_class = false;
    std::size_t at = 0;
    for (; at < inner.size() && open > 0; ++at) {
      const char c = inner[at];
      if (c == '\\') {
        ++at;
      } else if (in_class) {
        in_class = c != ']';
      } else {
        in_class = c == '[';
        open += c == '(' ? 1 : c == ')' ? -1 : 0;
      }
    }
    if (open != 0 || at != inner.size()) return pattern;
    pattern = inner.substr(0, inner.size() - 1);
  }
}

}  // namespace

Result<ExprId> AddRegex(std::string_view pattern, const RegexOptions& options, Grammar* grammar) {
  return RegexReader(WithoutWholeGroup(pattern), options, grammar).Read();
}

Result<Grammar> ParseRegex(std::string_view pattern) {
  Grammar grammar;
  const RuleId root = grammar.AddRule("root");
  const ExprId body = BITTERN_TRY(AddRegex(pattern, {}, &grammar));
  grammar.Define(root, body);
  return grammar;
}

}  // namespace bittern::grammar
