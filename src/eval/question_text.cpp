// SPDX-License-Identifier: Apache-2.0
// Any number of threads.
#include "eval/question_text.hpp"

#include "jinja/text/casing.hpp"

namespace bittern::eval {
namespace {

std::string Replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  for (std::size_t found; (found = text.find(from)) != std::string_view::npos;) {
    out += text.substr(0, found);
    out += to;
    text.remove_prefix(found + from.size());
  }
  return out.append(text);
}

/// Without "[...]"; a mark does not go over the end of a line.
std::string WithoutBrackets(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t open = text.find('[');
    out += text.substr(0, open);
    if (open == std::string_view::npos) break;
    text.remove_prefix(open);
    const std::size_t close = text.find_first_of("]\n");
    const bool whole = close != std::string_view::npos && text[close] == ']';
    if (!whole) out += text[0];
    text.remove_prefix(whole ? close + 1 : 1);
  }
  return out;
}

}  // namespace

std::string_view Stripped(std::string_view text) noexcept {
  constexpr std::string_view kSpace = " \t\n\r\f\v";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::string Capitalised(const std::string& text) {
  return jinja::Capitalized(jinja::Text(text)).bytes();
}

std::string WithoutWikiHowMarks(std::string_view text) {
  return Replaced(WithoutBrackets(Replaced(Stripped(text), " [title]", ". ")), "  ", " ");
}

}  // namespace bittern::eval
