// SPDX-License-Identifier: Apache-2.0
#include "base/json/json_escape.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <iterator>

#include "base/utf8.hpp"

namespace bittern {
namespace {

/// The letter of a character's short escape; 0 if it has none.
char ShortEscape(char c) noexcept {
  constexpr std::string_view kSpecial = "\"\\\b\f\n\r\t", kLetters = "\"\\bfnrt";
  const std::size_t place = kSpecial.find(c);
  return place == std::string_view::npos ? '\0' : kLetters[place];
}

void AppendUnit(std::uint32_t unit, std::string* out) {
  fmt::format_to(std::back_inserter(*out), "\\u{:04x}", unit);
}

}  // namespace

void AppendJsonEscaped(std::string_view text, bool ascii, std::string* out) {
  while (!text.empty()) {
    const Utf8Step step = DecodeUtf8(text);
    const auto code = static_cast<std::uint32_t>(step.code_point);
    if (const char letter = ShortEscape(text.front()); letter != '\0') {
      *out += '\\';
      *out += letter;
    } else if (code < 0x20) {
      AppendUnit(code, out);
    } else if (code < 0x80 || !ascii) {
      AppendUtf8(step.code_point, out);
    } else if (code < 0x10000) {
      AppendUnit(code, out);
    } else {
      AppendUnit(0xD800 + ((code - 0x10000) >> 10), out);
      AppendUnit(0xDC00 + ((code - 0x10000) & 0x3FF), out);
    }
    text.remove_prefix(step.size);
  }
}

std::string QuotedJson(std::string_view text, bool ascii) {
  std::string quoted = "\"";
  AppendJsonEscaped(text, ascii, &quoted);
  return quoted + '"';
}

}  // namespace bittern
