// SPDX-License-Identifier: Apache-2.0
#include "console/reply_screen.hpp"

#include "base/utf8.hpp"

namespace bittern::console {
std::string WithoutControls(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Utf8Step step = DecodeUtf8(text);
    const char32_t c = step.code_point;
    const bool control = (c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7f && c < 0xa0);
    out += control || !step.valid ? std::string_view("\xef\xbf\xbd") : text.substr(0, step.size);
    text.remove_prefix(step.size);
  }
  return out;
}

std::string ReplyScreen::Add(std::string_view text, std::size_t columns) {
  const std::string rest = fold_.Add(text);
  const std::string shown = WithoutControls(folds_ ? std::string_view(rest) : text);
  return wrap_.Add(markdown_ ? style_.Add(shown) : shown, columns);
}

std::string ReplyScreen::Finish(std::size_t columns) {
  const std::string rest = fold_.Finish();
  std::string shown = folds_ ? WithoutControls(rest) : std::string();
  if (markdown_) shown = style_.Add(shown) + style_.Finish();
  return wrap_.Add(shown, columns) + wrap_.Finish(columns);
}

}  // namespace bittern::console
