// SPDX-License-Identifier: Apache-2.0
// A regular expression that finds its matches in time linear in the text, whatever the text is,
// and finds those that a backtracking engine would: the leftmost, and of several that begin there
// the one whose alternatives and repeats come first.
//
// Two walks over the text do it. The first goes from its end to its start and notes for every
// place from which nodes of the expression a match can still be completed; that is a finite
// automaton, all of whose states are made when the expression is compiled. The second goes forward
// and takes at each fork the first branch that the notes allow: it never has to come back.
// Lookahead costs nothing extra: the first walk knows what follows. Both are one table look-up a
// character.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "tokenizer/regex/regex_syntax.hpp"

namespace bittern::tokenizer {

/// The classes of a text's characters.
enum class TextUnit : std::uint8_t {
  kUtf8,  ///< code points; bad bytes count as U+FFFD, one for each maximal bad part
  kByte,  ///< bytes, each read as its letter in the byte alphabet
};

/// Immutable; any number of threads may share one.
class Regex {
 public:
  /// Working memory, kept between calls. One per thread.
  struct Scratch {
    std::vector<std::uint8_t> classes;
    std::vector<std::uint32_t> rows;
  };

  /// Errors: those of ParseRegex; kUnsupported if the expression repeats what may be empty, or
  /// needs tables of more than 16 MiB.
  [[nodiscard]] static Result<Regex> Compile(std::string_view pattern, TextUnit unit);

  /// Calls use(begin, end) for every match, in order; they do not overlap. A match may be empty;
  /// after one the search goes on at the next character.
  template <class Use>
  void ForEachMatch(std::string_view text, Scratch* scratch, const Use& use) const {
    Prepare(text, scratch);
    const std::uint8_t* classes = scratch->classes.data();
    const std::uint32_t* rows = scratch->rows.data();
    const std::uint32_t* actions = table_.data() + num_symbols_;
    const std::size_t size = text.size();
    for (std::size_t begin = 0; begin < size;) {
      std::size_t end = begin;
      std::uint32_t entry = actions[rows[begin]];  // entry 0 is the start
      while (entry < kDone) {
        do ++end;
        while (end < size && classes[end] == kInside);
        entry = actions[rows[end] + entry];
      }
      if (entry == kDone) use(begin, end);
      if (end != begin) {
        begin = end;
        continue;
      }
      do ++begin;
      while (begin < size && classes[begin] == kInside);
    }
  }

 private:
  friend class RegexCompiler;

  /// The class of a byte that continues a character.
  static constexpr std::uint8_t kInside = 0;
  /// Actions: an entry to go on with after the character, or one of these.
  static constexpr std::uint32_t kNoMatch = 0xffffffff, kDone = 0xfffffffe;

  Regex() = default;
  /// Fills classes (one per byte) and rows (one per byte, and one for the end).
  void Prepare(std::string_view text, Scratch* scratch) const;
  void Classify(std::string_view text, std::uint8_t* classes) const;
  [[nodiscard]] std::uint8_t ClassOfCodePoint(char32_t c) const noexcept;

  /// A row for each state of the backward automaton: first where a symbol leads (as an offset of a
  /// row), then the forward walk's action for each entry.
  std::vector<std::uint32_t> table_;
  std::size_t num_symbols_ = 0;
  std::array<std::uint32_t, 2> start_rows_{};  // where the last character is (1) a word's, or not
  TextUnit unit_ = TextUnit::kUtf8;
  bool sees_words_ = false;        // symbols are 2 * class + whether a word character comes before
  std::vector<std::uint8_t> bmp_;  // class by code point below U+10000; kByte: by byte
  std::vector<char32_t> astral_firsts_;  // above: where each run of one class begins
  std::vector<std::uint8_t> astral_classes_;
  std::vector<bool> is_word_class_;
};

}  // namespace bittern::tokenizer
