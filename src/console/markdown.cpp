// SPDX-License-Identifier: Apache-2.0
// Styles end with their line, but for fenced blocks, so a mark that is never closed does little.
#include "console/markdown.hpp"

#include <algorithm>
#include <utility>

namespace bittern::console {
namespace {

constexpr std::string_view kBold = "\x1b[1m", kCode = "\x1b[36m", kDim = "\x1b[2m",
                           kReset = "\x1b[0m";

bool AllAre(std::string_view text, char c) {
  return std::ranges::all_of(text, [&](char x) { return x == c; });
}

}  // namespace

void MarkdownStyle::SetStyle(std::string* out) {
  const std::string_view wanted = fence_line_                    ? kDim
                                  : in_block_ || code_ticks_ > 0 ? kCode
                                  : heading_ || bold_            ? kBold
                                                                 : std::string_view();
  if (wanted == style_) return;
  if (!style_.empty()) *out += kReset;
  *out += wanted;
  style_ = wanted;
}

void MarkdownStyle::EndLine(std::string* out) {
  // A fence opens or closes a block behind its own line.
  if (std::exchange(fence_line_, false)) in_block_ = !in_block_;
  heading_ = bold_ = false;
  code_ticks_ = 0;
  // Nothing but a block goes over the end of a line.
  const bool keeps = in_block_ && style_ == kCode;
  if (!keeps && !std::exchange(style_, {}).empty()) *out += kReset;
  *out += '\n';
  last_ = '\n';
  at_line_start_ = true;
}

/// marks_ is the beginning of a line, as far as it tells what the line is.
void MarkdownStyle::BeginLine(std::string* out) {
  at_line_start_ = false;
  std::string_view begin = marks_;
  while (begin.starts_with(' ')) begin.remove_prefix(1);
  const std::size_t indent = marks_.size() - begin.size();
  if (indent <= 3 && begin.starts_with("```")) fence_line_ = true;
  const std::size_t level = std::min(begin.find_first_not_of('#'), begin.size());
  const bool headed = level >= 1 && level <= 6 && begin.substr(level).starts_with(' ');
  if (!in_block_ && indent <= 3 && headed) heading_ = true;
  for (const char c : std::exchange(marks_, {})) {
    if (fence_line_ || in_block_ || heading_) {
      Plain(c, out);
    } else {
      Take(c, out);
    }
  }
}

void MarkdownStyle::Plain(char c, std::string* out) {
  SetStyle(out);
  *out += c;
  last_ = c;
}

/// A run of marks has ended before `next`.
void MarkdownStyle::EndMarks(char next, std::string* out) {
  const std::string marks = std::exchange(marks_, {});
  if (marks.empty()) return;
  const bool ticks = marks[0] == '`';
  const bool opens_code = ticks && code_ticks_ == 0;
  const bool closes_code = ticks && code_ticks_ == marks.size();
  const bool is_bold = !ticks && marks.size() >= 2 && code_ticks_ == 0;
  const bool opens_bold = is_bold && !bold_ && next != ' ' && next != '\n';
  const bool closes_bold = is_bold && bold_ && last_ != ' ' && last_ != '\n';
  if (opens_code) code_ticks_ = marks.size();
  if (opens_bold) bold_ = true;
  for (const char c : marks) Plain(c, out);
  if (closes_code) code_ticks_ = 0;
  if (closes_bold) bold_ = false;
}

void MarkdownStyle::Take(char c, std::string* out) {
  if (c == '\n') {
    if (at_line_start_) BeginLine(out);
    EndMarks(c, out);
    return EndLine(out);
  }
  if (at_line_start_) {
    marks_ += c;
    // "   ###### " and "   ```" are the longest beginnings that tell something.
    std::string_view begin = marks_;
    while (begin.starts_with(' ')) begin.remove_prefix(1);
    const std::size_t indent = marks_.size() - begin.size();
    const bool waits = indent <= 3 && (begin.empty() || (begin.size() < 3 && AllAre(begin, '`')) ||
                                       (begin.size() <= 6 && AllAre(begin, '#')));
    if (!waits) BeginLine(out);
    return;
  }
  if (fence_line_ || in_block_ || heading_) return Plain(c, out);
  const bool is_mark = c == '`' || (c == '*' && code_ticks_ == 0);
  if (!marks_.empty() && (!is_mark || marks_[0] != c)) EndMarks(c, out);
  if (is_mark) {
    marks_ += c;
  } else {
    Plain(c, out);
  }
}

std::string MarkdownStyle::Add(std::string_view text) {
  std::string out;
  for (const char c : text) Take(c, &out);
  return out;
}

std::string MarkdownStyle::Finish() {
  std::string out;
  if (at_line_start_) BeginLine(&out);
  EndMarks('\n', &out);
  if (!std::exchange(style_, {}).empty()) out += kReset;
  *this = MarkdownStyle();
  return out;
}

}  // namespace bittern::console
