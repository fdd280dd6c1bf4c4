// SPDX-License-Identifier: Apache-2.0
// Data and tags take turns. What white space a tag takes from the data before it is decided by the
// sign after its first two letters, by lstrip_blocks, and by whether the last tag ended a line.
#include "jinja/lexer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/utf8.hpp"
#include "jinja/python.hpp"
#include "jinja/string_literal.hpp"

namespace bittern::jinja {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
/// All bytes beyond ASCII count as letters: no operator has any.
bool IsNameByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || IsDigit(c) ||
         static_cast<unsigned char>(c) >= 0x80;
}

/// One newline at the end goes, others become \n.
std::string NormalizedSource(std::string_view source) {
  std::string out;
  const std::string valid = ReplaceInvalidUtf8(source);
  for (std::size_t i = 0; i < valid.size(); ++i) {
    const bool is_pair = valid[i] == '\r' && i + 1 < valid.size() && valid[i + 1] == '\n';
    if (!is_pair) out += valid[i] == '\r' ? '\n' : valid[i];
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

/// One run over the source. at_ is the place of the next byte to read.
class Lexer {
 public:
  explicit Lexer(std::string source) : source_(std::move(source)) {}

  Result<std::vector<Token>> Run();

 private:
  [[nodiscard]] std::string_view Rest() const { return std::string_view(source_).substr(at_); }
  [[nodiscard]] Error ErrorHere(std::string_view message) const {
    return ErrorInLine(line_, ErrorCode::kCorruptFile, message);
  }
  void Advance(std::size_t size) {
    line_ += static_cast<int>(std::ranges::count(Rest().substr(0, size), '\n'));
    at_ += size;
  }
  void Add(TokenKind kind, std::string_view text) {
    tokens_.push_back({kind, std::string(text), line_});
  }
  void AddData(std::string_view data) {
    if (!data.empty()) Add(TokenKind::kData, data);
  }
  /// Data before a tag whose sign is `sign`.
  [[nodiscard]] std::string_view CutBeforeTag(std::string_view data, char sign,
                                              bool is_print) const;
  /// Skips what ends a tag: with '-' all white space after it, else (blocks) one newline.
  void EndTag(std::size_t letters, char sign, bool trims_newline);
  [[nodiscard]] std::size_t SpaceSize(std::size_t from) const;
  /// The sign that stands here; 0 if none.
  [[nodiscard]] char SignAt(std::size_t at) const {
    return at < source_.size() && (source_[at] == '-' || source_[at] == '+') ? source_[at] : '\0';
  }
  Result<void> SkipComment();
  /// True if a raw section began here and was read.
  Result<bool> ReadRaw();
  Result<void> ReadTag(bool is_print);
  /// True if the tag's end was here.
  bool ReadTagEnd(bool is_print);
  Result<void> ReadInner();
  Result<void> ReadString();
  void ReadNumber();
  Result<void> ReadOperator();
  [[nodiscard]] std::size_t DigitsSize(std::size_t from) const;

  std::string source_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool line_starts_ = true;  ///< the last tag, with what it took, ended a line
  std::string open_;         ///< brackets that are open in this tag
  std::vector<Token> tokens_;
};

/// '-' takes all white space. Without a sign a block or comment takes the blanks of its own line
/// (lstrip_blocks), and {{ takes nothing.
std::string_view Lexer::CutBeforeTag(std::string_view data, char sign, bool is_print) const {
  if (sign == '-') {
    while (!data.empty()) {
      std::size_t start = data.size() - 1;
      while (start > 0 && (static_cast<unsigned char>(data[start]) & 0xC0) == 0x80) --start;
      if (!IsSpace(DecodeUtf8(data.substr(start)).code_point)) break;
      data = data.substr(0, start);
    }
    return data;
  }
  if (sign == '+' || is_print) return data;
  const std::size_t newline = data.rfind('\n');
  const std::size_t line = newline == std::string_view::npos ? 0 : newline + 1;
  if (line == 0 && !line_starts_) return data;
  for (std::string_view rest = data.substr(line); !rest.empty();) {
    const Utf8Step step = DecodeUtf8(rest);
    if (!IsSpace(step.code_point)) return data;
    rest.remove_prefix(step.size);
  }
  return data.substr(0, line);
}

std::size_t Lexer::SpaceSize(std::size_t from) const {
  std::size_t at = from;
  while (at < source_.size()) {
    const Utf8Step step = DecodeUtf8(std::string_view(source_).substr(at));
    if (!IsSpace(step.code_point)) break;
    at += step.size;
  }
  return at - from;
}

/// Notes whether a line ended here: a tag that follows at once may then cut its blanks.
void Lexer::EndTag(std::size_t letters, char sign, bool trims_newline) {
  std::size_t size = letters;
  if (sign == '-') {
    size += SpaceSize(at_ + size);
  } else if (sign != '+' && trims_newline && Rest().substr(size).starts_with('\n')) {
    size += 1;
  }
  line_starts_ = size > 0 && Rest().substr(0, size).ends_with('\n');
  Advance(size);
}

/// Called behind "{#" and its sign.
Result<void> Lexer::SkipComment() {
  const std::size_t end = source_.find("#}", at_);
  if (end == std::string::npos) return tl::unexpected(ErrorHere("this comment {# does not end"));
  const char sign = end > at_ ? SignAt(end - 1) : '\0';
  Advance(end - at_);
  EndTag(2, sign, true);
  return {};
}

/// {% raw %}text{% endraw %}: the text is data, whatever stands in it.
Result<bool> Lexer::ReadRaw() {
  // at_ is behind "{%" and its sign.
  std::size_t at = at_ + SpaceSize(at_);
  if (!std::string_view(source_).substr(at).starts_with("raw")) return false;
  at += 3;
  at += SpaceSize(at);
  const char begin_sign = at < source_.size() && source_[at] == '-' ? '-' : '\0';
  if (begin_sign != '\0') ++at;
  if (!std::string_view(source_).substr(at).starts_with("%}")) return false;
  Advance(at - at_);
  EndTag(2, begin_sign, false);
  // Every "{%" that is no {% endraw %} is part of the text.
  for (std::size_t tag = at_; (tag = source_.find("{%", tag)) != std::string::npos; tag += 2) {
    const char sign = SignAt(tag + 2);
    std::size_t end = tag + 2 + (sign != '\0' ? 1 : 0);
    end += SpaceSize(end);
    if (!std::string_view(source_).substr(end).starts_with("endraw")) continue;
    end += 6;
    end += SpaceSize(end);
    const char end_sign = SignAt(end);
    if (end_sign != '\0') ++end;
    if (!std::string_view(source_).substr(end).starts_with("%}")) continue;
    AddData(CutBeforeTag(std::string_view(source_).substr(at_, tag - at_), sign, false));
    Advance(end - at_);
    EndTag(2, end_sign, true);
    return true;
  }
  return tl::unexpected(ErrorHere("this {% raw %} has no {% endraw %}"));
}

bool Lexer::ReadTagEnd(bool is_print) {
  const std::string_view letters = is_print ? "}}" : "%}";
  char sign = SignAt(at_);
  if (is_print && sign == '+') sign = '\0';
  if (!Rest().substr(sign == '\0' ? 0 : 1).starts_with(letters)) return false;
  Add(is_print ? TokenKind::kPrintEnd : TokenKind::kBlockEnd, letters);
  if (sign != '\0') ++at_;
  EndTag(2, sign, !is_print);
  return true;
}

/// Reads tokens up to the end of {{ or {%. Letters like "}}" end it only where no bracket is open:
/// they may close two dictionaries.
Result<void> Lexer::ReadTag(bool is_print) {
  Add(is_print ? TokenKind::kPrintBegin : TokenKind::kBlockBegin, is_print ? "{{" : "{%");
  const int begin = line_;
  open_.clear();
  for (;;) {
    if (at_ >= source_.size()) {
      return tl::unexpected(
          ErrorInLine(begin, ErrorCode::kCorruptFile,
                      fmt::format("this {} does not end", is_print ? "{{" : "{%")));
    }
    if (open_.empty() && ReadTagEnd(is_print)) return {};
    BITTERN_TRY(ReadInner());
  }
}

/// One token of a tag, or the white space before it.
Result<void> Lexer::ReadInner() {
  if (const std::size_t space = SpaceSize(at_); space > 0) {
    Advance(space);
    return {};
  }
  const char c = source_[at_];
  if (IsDigit(c)) {
    ReadNumber();
    return {};
  }
  if (IsNameByte(c)) {
    std::size_t size = 0;
    while (size < Rest().size() && IsNameByte(Rest()[size])) ++size;
    Add(TokenKind::kName, Rest().substr(0, size));
    Advance(size);
    return {};
  }
  return c == '\'' || c == '"' ? ReadString() : ReadOperator();
}

/// A string in either kind of quotes. It may hold line ends.
Result<void> Lexer::ReadString() {
  const char quote = source_[at_];
  std::size_t end = at_ + 1;
  while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
  if (end >= source_.size()) return tl::unexpected(ErrorHere("this string does not end"));
  auto value = UnescapeLiteral(std::string_view(source_).substr(at_ + 1, end - at_ - 1));
  if (!value.has_value()) return tl::unexpected(ErrorHere(value.error().message));
  Add(TokenKind::kString, *value);
  Advance(end + 1 - at_);
  return {};
}

/// The size of decimal digits from there, single underlines between them included.
std::size_t Lexer::DigitsSize(std::size_t from) const {
  std::size_t at = from;
  while (at < source_.size()) {
    const bool joins = source_[at] == '_' && at > from && at + 1 < source_.size() &&
                       IsDigit(source_[at + 1]) && source_[at - 1] != '_';
    if (!IsDigit(source_[at]) && !joins) break;
    ++at;
  }
  return at - from;
}

/// 10, 1_000, 0x1f, 1.5, 2e-3. After a dot there is no fraction: in `a.0.1` each number is an
/// index.
void Lexer::ReadNumber() {
  std::size_t size = 0;
  bool is_float = false;
  const std::string_view rest = Rest();
  // "| 0x20" makes a letter small.
  const char base = rest.size() > 1 && rest[0] == '0' ? static_cast<char>(rest[1] | 0x20) : '\0';
  if (base == 'x' || base == 'o' || base == 'b') {
    size = 2;
    while (size < rest.size() &&
           (IsDigit(rest[size]) || rest[size] == '_' ||
            (base == 'x' && std::isxdigit(static_cast<unsigned char>(rest[size])) != 0))) {
      ++size;
    }
  } else {
    size = DigitsSize(at_);
    const auto more = [&](std::size_t skip) {
      const std::size_t digits = DigitsSize(at_ + size + skip);
      if (digits > 0) size += skip + digits;
      if (digits > 0) is_float = true;
    };
    const bool after_dot = at_ > 0 && source_[at_ - 1] == '.';
    if (!after_dot && rest.substr(size).starts_with('.')) more(1);
    if (!after_dot && size < rest.size() && (rest[size] | 0x20) == 'e') {
      more(size + 1 < rest.size() && (rest[size + 1] == '-' || rest[size + 1] == '+') ? 2 : 1);
    }
  }
  std::string digits(rest.substr(0, size));
  std::erase(digits, '_');
  Add(is_float ? TokenKind::kFloat : TokenKind::kInteger, digits);
  Advance(size);
}

/// Operators of two letters come first in the table. Brackets must close in their order.
Result<void> Lexer::ReadOperator() {
  constexpr std::array<std::string_view, 26> kOperators = {
      "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
      "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};
  for (const std::string_view op : kOperators) {
    if (!Rest().starts_with(op)) continue;
    if (op == "(" || op == "[" || op == "{") open_ += op == "(" ? ')' : op == "[" ? ']' : '}';
    if (op == ")" || op == "]" || op == "}") {
      if (open_.empty()) return tl::unexpected(ErrorHere(fmt::format("unexpected '{}'", op)));
      if (open_.back() != op[0]) {
        return tl::unexpected(
            ErrorHere(fmt::format("'{}' expected, '{}' found", open_.back(), op)));
      }
      open_.pop_back();
    }
    Add(TokenKind::kOperator, op);
    Advance(op.size());
    return {};
  }
  return tl::unexpected(ErrorHere(fmt::format("unexpected character '{}'", source_[at_])));
}

/// Looks for the next "{{", "{%" or "{#"; a single brace is data.
Result<std::vector<Token>> Lexer::Run() {
  while (at_ < source_.size()) {
    std::size_t tag = at_;
    while ((tag = source_.find('{', tag)) != std::string::npos) {
      const char next = tag + 1 < source_.size() ? source_[tag + 1] : '\0';
      if (next == '{' || next == '%' || next == '#') break;
      ++tag;
    }
    if (tag == std::string::npos) {
      AddData(Rest());
      break;
    }
    const char kind = source_[tag + 1], sign = SignAt(tag + 2);
    AddData(CutBeforeTag(Rest().substr(0, tag - at_), sign, kind == '{'));
    Advance(tag + 2 + (sign != '\0' ? 1 : 0) - at_);
    if (kind == '#') {
      BITTERN_TRY(SkipComment());
      continue;
    }
    if (kind == '%') {
      const bool was_raw = BITTERN_TRY(ReadRaw());
      if (was_raw) continue;
    }
    BITTERN_TRY(ReadTag(kind == '{'));
  }
  Add(TokenKind::kEnd, "");
  return std::move(tokens_);
}

}  // namespace

Error ErrorInLine(int line, ErrorCode code, std::string_view message) {
  return {code, fmt::format("line {}: {}", line, message)};
}

Result<std::vector<Token>> Tokenize(std::string_view source) {
  return Lexer(NormalizedSource(source)).Run();
}

}  // namespace bittern::jinja
