// SPDX-License-Identifier: Apache-2.0
// Markdown made a little easier to read on a terminal while it streams: headings and **bold** are
// bold, `code` and fenced blocks have a colour. Nothing is taken away: without the escape sequences
// the text is what the model wrote, marks included.
#pragma once

#include <string>
#include <string_view>

namespace bittern::console {

/// One text. Not thread-safe.
class MarkdownStyle {
 public:
  /// The text that can be shown now: marks wait for the character that tells what they are.
  [[nodiscard]] std::string Add(std::string_view text);
  /// The text that has waited, and the end of all styles.
  [[nodiscard]] std::string Finish();

 private:
  void Take(char c, std::string* out);
  void BeginLine(std::string* out);
  void EndLine(std::string* out);
  void EndMarks(char next, std::string* out);
  void Plain(char c, std::string* out);
  void SetStyle(std::string* out);

  std::string marks_;          // a run of '`' or '*', or the beginning of a line
  bool at_line_start_ = true;  // marks_ is the beginning of a line so far
  bool in_block_ = false;      // between fences
  bool fence_line_ = false, heading_ = false, bold_ = false;
  std::size_t code_ticks_ = 0;   // > 0: inside a span that so many ` close
  char last_ = '\n';             // of the text, before marks_
  std::string_view style_ = {};  // that the terminal has now
};

}  // namespace bittern::console
