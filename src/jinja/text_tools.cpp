// SPDX-License-Identifier: Apache-2.0
// Numbers are read with from_chars, which knows no locale.
#include "jinja/text_tools.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/utf8.hpp"
#include "jinja/interpreter.hpp"
#include "jinja/python.hpp"

namespace bittern::jinja {
namespace {

/// Without white space of ASCII at either end.
std::string_view Stripped(std::string_view text) {
  const auto is_space = [](char c) { return IsSpace(static_cast<unsigned char>(c)); };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

/// Without underlines between digits; nothing where one stands elsewhere.
std::optional<std::string> Digits(std::string_view text) {
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto is_digit = [&](std::size_t at) {
      return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at])) != 0;
    };
    if (text[i] != '_') {
      digits += text[i];
    } else if (i == 0 || !is_digit(i - 1) || !is_digit(i + 1)) {
      return std::nullopt;
    }
  }
  return digits;
}

}  // namespace

Result<std::function<bool(char32_t)>> StrippedCharacters(const Value& chars) {
  if (chars.IsUndefined() || chars.IsNone()) return std::function<bool(char32_t)>(IsSpace);
  const Text* text = chars.AsText();
  if (text == nullptr) return Refuse("strip takes a string or none");
  std::u32string set;
  for (std::string_view rest = text->bytes(); !rest.empty();) {
    const Utf8Step step = DecodeUtf8(rest);
    set += step.code_point;
    rest.remove_prefix(step.size);
  }
  return std::function<bool(char32_t)>(
      [set](char32_t c) { return set.find(c) != std::u32string::npos; });
}

/// The result is charged as it grows: a short text can become very long.
Result<Text> Replace(const Text& text, const Text& old_text, const Text& new_text,
                     std::int64_t count, Budget* budget) {
  Text out;
  std::size_t at = 0;
  const std::string& bytes = text.bytes();
  while (count != 0) {
    // The empty string is found before every character and at the end.
    const std::size_t found = bytes.find(old_text.bytes(), at);
    if (found == std::string::npos) break;
    BITTERN_TRY(budget->Make(new_text.size() + 16));
    BITTERN_TRY(budget->Step(new_text.runs().size()));
    if (out.size() + new_text.size() > budget->limits().max_string) {
      BITTERN_TRY(budget->Make(out.size() + new_text.size()));
    }
    out.Append(text, at, found - at);
    out.Append(new_text);
    at = found + old_text.size();
    if (old_text.empty()) {
      if (found == bytes.size()) return out;
      const std::size_t width = ByteOfCharacter(std::string_view(bytes).substr(at), 1);
      out.Append(text, at, width);
      at += width;
    }
    if (count > 0) --count;
  }
  out.Append(text, at, std::string::npos);
  return out;
}

/// The ends are those of str.splitlines(), more than \n and \r. "\r\n" is one.
std::vector<Text> SplitLines(const Text& text, bool keep_ends) {
  std::vector<Text> lines;
  const std::string_view bytes = text.bytes();
  std::size_t begin = 0;
  for (std::size_t at = 0; at < bytes.size();) {
    const Utf8Step step = DecodeUtf8(bytes.substr(at));
    const char32_t c = step.code_point;
    const bool ends =
        (c >= 10 && c <= 13) || (c >= 28 && c <= 30) || c == 0x85 || c == 0x2028 || c == 0x2029;
    if (!ends) {
      at += step.size;
      continue;
    }
    const bool pair = c == '\r' && bytes.substr(at + 1).starts_with('\n');
    const std::size_t next = at + step.size + (pair ? 1 : 0);
    lines.push_back(text.Substr(begin, (keep_ends ? next : at) - begin));
    at = begin = next;
  }
  if (begin < bytes.size()) lines.push_back(text.Substr(begin));
  return lines;
}

/// For kCenter the odd blank goes left where both the gap and the width are odd, as in CPython.
Result<Text> Pad(const Text& text, std::int64_t width, std::string_view fill, Align align,
                 Budget* budget) {
  const auto size = static_cast<std::int64_t>(CountCharacters(text.bytes()));
  const std::int64_t missing = std::max<std::int64_t>(width - size, 0);
  if (missing > std::numeric_limits<std::int32_t>::max()) {
    return Refuse(fmt::format("a width of {}", width));
  }
  BITTERN_TRY(budget->Make(text.size() + static_cast<std::size_t>(missing) * fill.size()));
  std::int64_t left = 0;
  if (align == Align::kRight) left = missing;
  if (align == Align::kCenter) left = missing / 2 + (missing & width & 1);
  if (align == Align::kCenterLeft) left = missing / 2;
  Text out;
  const auto add = [&](std::int64_t count) {
    std::string filling;
    for (; count > 0; --count) filling += fill;
    out.Append(filling);
  };
  add(left);
  out.Append(text);
  add(missing - left);
  return out;
}

/// Takes a sign, underlines between digits, and 0x, 0o or 0b where the base is that one or 0.
std::optional<std::int64_t> ParseInt(std::string_view text, int base) {
  text = Stripped(text);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.size() > 2 && text[0] == '0') {
    const char letter = static_cast<char>(text[1] | 0x20);
    const int own = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
    if (own != 0 && (base == own || base == 0)) {
      base = own;
      text.remove_prefix(2);
    }
  }
  if (base == 0) base = 10;
  const auto digits = Digits(text);
  if (!digits || digits->empty() || base < 2 || base > 36 || digits->front() == '-') {
    return std::nullopt;
  }
  std::int64_t value = 0;
  const std::string signed_digits = negative ? "-" + *digits : *digits;
  const char* end = signed_digits.data() + signed_digits.size();
  const auto read = std::from_chars(signed_digits.data(), end, value, base);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return value;
}

/// Takes underlines between digits, "inf" and "nan", in any case.
std::optional<double> ParseFloat(std::string_view text) {
  text = Stripped(text);
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto digits = Digits(text);
  if (!digits || digits->empty()) return std::nullopt;
  double value = 0;
  const char* end = digits->data() + digits->size();
  const auto read = std::from_chars(digits->data(), end, value);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return value;
}

}  // namespace bittern::jinja
