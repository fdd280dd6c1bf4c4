// SPDX-License-Identifier: Apache-2.0
// Editing one line, apart from any terminal: bytes of the keyboard go in, a text, a cursor and what
// happened come out. libedit has no bracketed paste and breaks at wide characters, so this is our
// own; what is shown is computed here too, so that tests need no terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace bittern::console {

/// Columns that a character takes: 0 for marks that combine, 2 for wide ones.
[[nodiscard]] int CharacterWidth(char32_t code_point) noexcept;

class LineEdit {
 public:
  enum class Event {
    kNone,        ///< more keys are wanted
    kSubmit,      ///< Enter: Take() has the line
    kEnd,         ///< Ctrl-D at an empty line
    kInterrupt,   ///< Ctrl-C
    kClearScreen  ///< Ctrl-L
  };

  /// Reads keys up to the first event and leaves the others for the next call: a text typed ahead
  /// or pasted with line ends outside of a bracketed paste is several lines.
  [[nodiscard]] Event Feed(std::string_view bytes);

  /// The line, which is put into the history; the editor is empty afterwards.
  [[nodiscard]] std::string Take();
  /// A line to go on with, in place of this one.
  void SetText(std::string_view text);
  /// Forgets the line.
  void Clear();
  /// Lines of earlier sessions, the oldest first, in place of the history.
  void SetHistory(std::vector<std::string> lines);

  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  /// The cursor: an offset into text(), in bytes.
  [[nodiscard]] std::size_t cursor() const noexcept { return cursor_; }

 private:
  [[nodiscard]] Event Key(char byte);
  void Escape(std::string_view sequence);
  void Insert(std::string_view text);
  void InsertPasted(std::string_view text);
  [[nodiscard]] std::size_t Before(std::size_t at) const noexcept;
  [[nodiscard]] std::size_t After(std::size_t at) const noexcept;
  [[nodiscard]] std::size_t WordBefore(std::size_t at) const noexcept;
  [[nodiscard]] std::size_t WordAfter(std::size_t at) const noexcept;
  void Erase(std::size_t from, std::size_t to);
  void ShowHistory(std::size_t index);

  std::string text_, pending_, draft_;
  std::size_t cursor_ = 0;
  bool pasting_ = false;
  std::vector<std::string> history_;
  std::size_t shown_ = 0;  ///< index in history_; its size: the draft
};

/// A line as a terminal of some width shows it.
struct Screen {
  std::vector<std::string> rows;
  std::size_t cursor_row = 0, cursor_column = 0;
};

/// `prompt` (ASCII) and `text` in rows of `columns`; line feeds begin a row, tabs are four spaces.
[[nodiscard]] Screen LayOut(std::string_view prompt, std::string_view text, std::size_t cursor,
                            std::size_t columns);

/// Breaks lines between words where a terminal would break them anywhere. Styles (ESC [ ... m) may
/// stand in the text.
class WordWrap {
 public:
  /// The text that can be shown now; the last word waits for its end.
  [[nodiscard]] std::string Add(std::string_view text, std::size_t columns);
  /// The last word.
  [[nodiscard]] std::string Finish(std::size_t columns);

 private:
  void EndWord(std::size_t columns, std::string* out);

  std::string word_, spaces_;
  std::size_t column_ = 0;
};

}  // namespace bittern::console
