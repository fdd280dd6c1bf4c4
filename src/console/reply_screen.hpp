// SPDX-License-Identifier: Apache-2.0
// A reply on a terminal, as it comes: thoughts folded, control characters made harmless, light
// styles, lines broken between words. A pipe gets the reply as it is, without this.
#pragma once

#include <string>
#include <string_view>

#include "console/line_edit.hpp"
#include "console/markdown.hpp"
#include "runtime/chat/thought_fold.hpp"

namespace bittern::console {

class ReplyScreen {
 public:
  /// `markdown`: with styles. `folds`: thoughts are not shown; begun: see ThoughtFold.
  ReplyScreen(bool markdown, bool folds, bool begun)
      : fold_(begun), markdown_(markdown), folds_(folds) {}

  /// Returns the bytes to write for `text` (whole characters) on a terminal of `columns`.
  [[nodiscard]] std::string Add(std::string_view text, std::size_t columns);
  [[nodiscard]] std::string Finish(std::size_t columns);

  [[nodiscard]] const runtime::ThoughtFold& fold() const noexcept { return fold_; }

 private:
  runtime::ThoughtFold fold_;
  MarkdownStyle style_;
  WordWrap wrap_;
  bool markdown_, folds_;
};

/// `text` with U+FFFD for control characters but tabs and line feeds: a model cannot move the
/// cursor, change colours or set the title of a window.
[[nodiscard]] std::string WithoutControls(std::string_view text);

}  // namespace bittern::console
