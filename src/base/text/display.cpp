// SPDX-License-Identifier: Apache-2.0
// Escapes by code point, so that a cut never falls inside a character.
#include "base/text/display.hpp"

#include <fmt/format.h>

#include <iterator>

#include "base/utf8.hpp"

namespace bittern {
namespace {

/// Control characters, and those that turn the direction of writing: text from a file must not
/// move the cursor of a terminal or hide what it says.
bool IsInvisible(char32_t c) {
  const bool control = c < 0x20 || (c >= 0x7f && c < 0xa0);
  const bool direction = c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
                         (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
  return control || direction;
}

/// \n, \t, \r or \u{HEX}.
void AppendEscape(char32_t c, std::string* out) {
  switch (c) {
    case '\n':
      *out += "\\n";
      return;
    case '\t':
      *out += "\\t";
      return;
    case '\r':
      *out += "\\r";
      return;
    default:
      fmt::format_to(std::back_inserter(*out), "\\u{{{:x}}}", static_cast<std::uint32_t>(c));
  }
}

/// The first characters that fit into `max_bytes` of the text, before they are escaped; "..." then
/// stands for the rest.
std::string Escape(std::string_view text, std::size_t max_bytes, bool quotes) {
  std::string out;
  std::size_t used = 0;
  while (used < text.size()) {
    const Utf8Step step = DecodeUtf8(text.substr(used));
    if (used + step.size > max_bytes) return out + "...";
    used += step.size;
    if (IsInvisible(step.code_point)) {
      AppendEscape(step.code_point, &out);
      continue;
    }
    if (quotes && (step.code_point == '"' || step.code_point == '\\')) out += '\\';
    AppendUtf8(step.code_point, &out);
  }
  return out;
}

}  // namespace

std::string Printable(std::string_view text, std::size_t max_bytes) {
  return Escape(text, max_bytes, /*quotes=*/false);
}

std::string Quoted(std::string_view text, std::size_t max_bytes) {
  return '"' + Escape(text, max_bytes, /*quotes=*/true) + '"';
}

}  // namespace bittern
