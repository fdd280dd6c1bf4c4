// SPDX-License-Identifier: Apache-2.0
// \u escapes of surrogates in pairs are not joined, as in Python; a lone one cannot be written in
// UTF-8 and becomes U+FFFD.
#include "jinja/string_literal.hpp"

#include <fmt/format.h>

#include "base/utf8.hpp"

namespace bittern::jinja {
namespace {

constexpr std::string_view kLetters = "\\'\"abfnrtv\n";
constexpr std::string_view kMeanings = "\\'\"\a\b\f\n\r\t\v";

int DigitValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : 99;
}

/// Reads at most `most` digits of `base` from the front of *text.
std::pair<char32_t, int> TakeDigits(std::string_view* text, int most, int base) {
  char32_t code = 0;
  int count = 0;
  while (count < most && !text->empty() && DigitValue(text->front()) < base) {
    code = code * static_cast<char32_t>(base) + static_cast<char32_t>(DigitValue(text->front()));
    text->remove_prefix(1);
    ++count;
  }
  return {code, count};
}

/// UTF-8 of a code point; U+FFFD where it has none.
void AppendCode(char32_t code, std::string* out) {
  const bool is_scalar = code < 0x110000 && (code < 0xD800 || code > 0xDFFF);
  AppendUtf8(is_scalar ? code : U'\uFFFD', out);
}

}  // namespace

Result<std::string> UnescapeLiteral(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const char c = text.front();
    text.remove_prefix(1);
    if (c != '\\' || text.empty()) {
      out += c;
      continue;
    }
    const char letter = text.front();
    const int digits = letter == 'x' ? 2 : letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
    if (digits > 0) {
      text.remove_prefix(1);
      const auto [code, count] = TakeDigits(&text, digits, 16);
      if (count != digits) {
        return Fail(ErrorCode::kCorruptFile,
                    fmt::format("\\{} needs {} hexadecimal digits", letter, digits));
      }
      AppendCode(code, &out);
    } else if (letter >= '0' && letter <= '7') {
      AppendCode(TakeDigits(&text, 3, 8).first, &out);
    } else if (letter == 'N') {
      return Fail(ErrorCode::kCorruptFile, "\\N{name} is not supported");
    } else if (letter == '\n') {
      text.remove_prefix(1);
    } else if (const std::size_t at = kLetters.find(letter); at != std::string_view::npos) {
      out += kMeanings[at];
      text.remove_prefix(1);
    } else {
      out += '\\';
    }
  }
  return out;
}

}  // namespace bittern::jinja
