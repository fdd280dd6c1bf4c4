// SPDX-License-Identifier: Apache-2.0
// Keys arrive as bytes: a lone byte, an escape sequence or a part of a pasted text. Widths are
// those of whole characters, so the cursor is right behind wide ones.
#include "console/line_edit.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <utility>

#include "base/utf8.hpp"

namespace bittern::console {
namespace {

constexpr std::string_view kPasteBegin = "\x1b[200~", kPasteEnd = "\x1b[201~";
constexpr std::size_t kMostHistory = 1000;

constexpr char Control(char letter) { return static_cast<char>(letter & 0x1f); }

bool IsControl(char32_t c) { return c < 0x20 || (c >= 0x7f && c < 0xa0); }

/// Columns; styles (ESC [ ... m) take none.
std::size_t TextWidth(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    if (text.starts_with("\x1b[")) {
      text.remove_prefix(std::min(text.find('m'), text.size() - 1) + 1);
      continue;
    }
    const Utf8Step step = DecodeUtf8(text);
    width += static_cast<std::size_t>(CharacterWidth(step.code_point));
    text.remove_prefix(step.size);
  }
  return width;
}

/// The length of the escape sequence that `bytes` begin with; 0 while it is not whole.
std::size_t EscapeLength(std::string_view bytes) {
  if (bytes.size() < 2) return 0;
  if (bytes[1] != '[' && bytes[1] != 'O') return 2;
  for (std::size_t i = 2; i < bytes.size(); ++i) {
    if (bytes[i] >= 0x40 && bytes[i] <= 0x7e) return i + 1;
  }
  return bytes.size() > 32 ? bytes.size() : 0;
}

}  // namespace

int CharacterWidth(char32_t code_point) noexcept {
  return std::max(0, utf8proc_charwidth(static_cast<utf8proc_int32_t>(code_point)));
}

/// Bytes that do not yet make a key, a character or a whole paste wait in `pending_`. One event is
/// told at a time; what follows it stays for the next call.
LineEdit::Event LineEdit::Feed(std::string_view bytes) {
  pending_ += bytes;
  std::string_view rest = pending_;
  Event event = Event::kNone;
  while (!rest.empty() && event == Event::kNone) {
    if (pasting_) {
      const std::size_t end = rest.find(kPasteEnd);
      if (end == std::string_view::npos) break;  // the whole paste at once
      InsertPasted(rest.substr(0, end));
      rest.remove_prefix(end + kPasteEnd.size());
      pasting_ = false;
    } else if (rest.front() == '\x1b') {
      const std::size_t length = EscapeLength(rest);
      if (length == 0) break;
      Escape(rest.substr(0, length));
      rest.remove_prefix(length);
    } else if (IsControl(static_cast<unsigned char>(rest.front())) &&
               static_cast<unsigned char>(rest.front()) < 0x80) {
      event = Key(rest.front());
      rest.remove_prefix(1);
    } else if (IsIncompleteUtf8(rest)) {
      break;
    } else {
      const Utf8Step step = DecodeUtf8(rest);
      if (step.valid && !IsControl(step.code_point)) Insert(rest.substr(0, step.size));
      rest.remove_prefix(step.size);
    }
  }
  pending_ = std::string(rest);
  return event;
}

/// The keys of readline's Emacs mode that people use without thinking.
LineEdit::Event LineEdit::Key(char byte) {
  switch (byte) {
    case '\r':
    case '\n':
      return Event::kSubmit;
    case Control('C'):
      return Event::kInterrupt;
    case Control('D'):
      if (text_.empty()) return Event::kEnd;
      Erase(cursor_, After(cursor_));
      break;
    case Control('L'):
      return Event::kClearScreen;
    case '\t':
      Insert(" ");
      break;
    case 0x7f:
    case Control('H'):
      Erase(Before(cursor_), cursor_);
      break;
    case Control('A'):
      cursor_ = 0;
      break;
    case Control('E'):
      cursor_ = text_.size();
      break;
    case Control('B'):
      cursor_ = Before(cursor_);
      break;
    case Control('F'):
      cursor_ = After(cursor_);
      break;
    case Control('K'):
      Erase(cursor_, text_.size());
      break;
    case Control('U'):
      Erase(0, cursor_);
      break;
    case Control('W'):
      Erase(WordBefore(cursor_), cursor_);
      break;
    case Control('P'):
      if (shown_ > 0) ShowHistory(shown_ - 1);
      break;
    case Control('N'):
      ShowHistory(shown_ + 1);
      break;
    default:
      break;  // other control characters are not part of a text
  }
  return Event::kNone;
}

/// Terminals write one key in several ways: "[H" of ANSI, "OH" of keypad mode, "[1~" of Linux,
/// "[7~" of rxvt. 1;5 is with Ctrl, 1;3 with Alt.
void LineEdit::Escape(std::string_view sequence) {
  const auto is = [&](std::initializer_list<std::string_view> names) {
    return std::ranges::find(names, sequence.substr(1)) != names.end();
  };
  if (sequence == kPasteBegin) pasting_ = true;
  if (is({"[A", "OA"}) && shown_ > 0) ShowHistory(shown_ - 1);
  if (is({"[B", "OB"})) ShowHistory(shown_ + 1);
  if (is({"[C", "OC"})) cursor_ = After(cursor_);
  if (is({"[D", "OD"})) cursor_ = Before(cursor_);
  if (is({"[H", "OH", "[1~", "[7~"})) cursor_ = 0;
  if (is({"[F", "OF", "[4~", "[8~"})) cursor_ = text_.size();
  if (is({"[3~"})) Erase(cursor_, After(cursor_));
  if (is({"b", "[1;5D", "[1;3D"})) cursor_ = WordBefore(cursor_);
  if (is({"f", "[1;5C", "[1;3C"})) cursor_ = WordAfter(cursor_);
  if (is({"d"})) Erase(cursor_, WordAfter(cursor_));
  if (is({"\x7f"})) Erase(WordBefore(cursor_), cursor_);
  if (is({"\r", "\n"})) Insert("\n");  // Alt-Enter
}

void LineEdit::Insert(std::string_view text) {
  text_.insert(cursor_, text);
  cursor_ += text.size();
}

/// Line ends become \n; other control characters, which would move the cursor, go.
void LineEdit::InsertPasted(std::string_view text) {
  std::string clean;
  for (std::size_t i = 0; i < text.size();) {
    const Utf8Step step = DecodeUtf8(text.substr(i));
    const bool line_end = text[i] == '\r' || text[i] == '\n';
    if (line_end) clean += '\n';
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') ++i;
    if (!line_end && (text[i] == '\t' || !IsControl(step.code_point))) {
      clean += step.valid ? text.substr(i, step.size) : std::string_view("\xef\xbf\xbd");
    }
    i += step.size;
  }
  Insert(clean);
}

/// A line that is typed twice in a row is remembered once.
std::string LineEdit::Take() {
  std::string line = std::exchange(text_, {});
  if (!line.empty() && (history_.empty() || history_.back() != line)) history_.push_back(line);
  if (history_.size() > kMostHistory) history_.erase(history_.begin());
  Clear();
  return line;
}

void LineEdit::SetText(std::string_view text) {
  Clear();
  Insert(text);
}

void LineEdit::Clear() {
  text_.clear();
  draft_.clear();
  cursor_ = 0;
  shown_ = history_.size();
}

void LineEdit::SetHistory(std::vector<std::string> lines) {
  history_ = std::move(lines);
  Clear();
}

/// The line that was begun is the newest entry: it is there again on the way back down.
void LineEdit::ShowHistory(std::size_t index) {
  if (index > history_.size()) return;
  if (shown_ == history_.size()) draft_ = text_;
  shown_ = index;
  text_ = index == history_.size() ? draft_ : history_[index];
  cursor_ = text_.size();
}

/// Marks that combine stay with the character before them.
std::size_t LineEdit::Before(std::size_t at) const noexcept {
  while (at > 0) {
    --at;
    while (at > 0 && (static_cast<unsigned char>(text_[at]) & 0xc0) == 0x80) --at;
    const char32_t c = DecodeUtf8(std::string_view(text_).substr(at)).code_point;
    if (c < 0x80 || CharacterWidth(c) > 0) break;
  }
  return at;
}

std::size_t LineEdit::After(std::size_t at) const noexcept {
  if (at >= text_.size()) return text_.size();
  at += DecodeUtf8(std::string_view(text_).substr(at)).size;
  while (at < text_.size()) {
    const Utf8Step step = DecodeUtf8(std::string_view(text_).substr(at));
    if (step.code_point < 0x80 || CharacterWidth(step.code_point) > 0) break;
    at += step.size;
  }
  return at;
}

std::size_t LineEdit::WordBefore(std::size_t at) const noexcept {
  while (at > 0 && text_[at - 1] == ' ') --at;
  while (at > 0 && text_[at - 1] != ' ') --at;
  return at;
}

std::size_t LineEdit::WordAfter(std::size_t at) const noexcept {
  while (at < text_.size() && text_[at] == ' ') ++at;
  while (at < text_.size() && text_[at] != ' ') ++at;
  return at;
}

void LineEdit::Erase(std::size_t from, std::size_t to) {
  text_.erase(from, to - from);
  cursor_ = from;
}

/// Rows as the terminal will show them. A character of two columns is not cut at a row's end, and
/// the cursor behind the last column begins a new row, as terminals do only with the next
/// character.
Screen LayOut(std::string_view prompt, std::string_view text, std::size_t cursor,
              std::size_t columns) {
  columns = std::max<std::size_t>(columns, 4);
  Screen screen{{std::string(prompt)}};
  std::size_t column = prompt.size();
  const auto begin_row = [&] {
    screen.rows.emplace_back();
    column = 0;
  };
  for (std::size_t i = 0; i <= text.size();) {
    const bool end = i == text.size();
    const Utf8Step step = end ? Utf8Step{' ', 1, true} : DecodeUtf8(text.substr(i));
    const bool tab = !end && text[i] == '\t';
    const auto width = tab ? 4 : static_cast<std::size_t>(CharacterWidth(step.code_point));
    if (column + std::max<std::size_t>(width, i == cursor ? 1 : 0) > columns) begin_row();
    if (i == cursor) {
      screen.cursor_row = screen.rows.size() - 1;
      screen.cursor_column = column;
    }
    if (end) break;
    if (text[i] == '\n') {
      begin_row();
    } else if (tab) {
      screen.rows.back() += "    ";
    } else {
      screen.rows.back() += text.substr(i, step.size);
    }
    if (text[i] != '\n') column += width;
    i += step.size;
  }
  return screen;
}

/// Spaces wait until the word behind them is whole; at a row's end they are dropped.
void WordWrap::EndWord(std::size_t columns, std::string* out) {
  const std::size_t width = TextWidth(word_);
  if (column_ > 0 && column_ + spaces_.size() + width > columns) {
    *out += '\n';
    column_ = 0;
  } else {
    *out += spaces_;
    column_ += spaces_.size();
  }
  spaces_.clear();
  *out += std::exchange(word_, {});
  column_ += width;
  if (columns > 0 && column_ > columns) column_ %= columns;  // a word of several rows
}

std::string WordWrap::Add(std::string_view text, std::size_t columns) {
  std::string out;
  for (const char c : text) {
    if (c != ' ' && c != '\n') {
      word_ += c;
      continue;
    }
    if (!word_.empty()) EndWord(columns, &out);
    if (c == ' ') {
      spaces_ += c;
    } else {
      spaces_.clear();
      out += '\n';
      column_ = 0;
    }
  }
  return out;
}

std::string WordWrap::Finish(std::size_t columns) {
  std::string out;
  if (!word_.empty()) EndWord(columns, &out);
  spaces_.clear();
  column_ = 0;
  return out;
}

}  // namespace bittern::console
