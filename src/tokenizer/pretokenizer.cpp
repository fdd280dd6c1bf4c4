// SPDX-License-Identifier: Apache-2.0
// One function per alternative of a pattern, tried in the pattern's order. Each returns how
// many bytes it matches at the front of the text, 0 for "does not match".
#include "tokenizer/pretokenizer.hpp"

#include "base/utf8.hpp"
#include "tokenizer/char_class.hpp"

namespace bittern::tokenizer {
namespace {

/// One character and its class; size 0 at the end of the text.
struct Char {
  char32_t code_point = 0;
  std::size_t size = 0;
  CharClass kind = CharClass::kOther;

  [[nodiscard]] bool Is(CharClass wanted) const { return size != 0 && kind == wanted; }
  [[nodiscard]] bool IsNewline() const {
    return size == 1 && (code_point == '\r' || code_point == '\n');
  }
};

Char CharAt(std::string_view text, std::size_t offset) {
  if (offset >= text.size()) return {};
  const auto byte = static_cast<unsigned char>(text[offset]);
  if (byte < 0x80) return {byte, 1, ClassOf(byte)};
  const Utf8Step step = DecodeUtf8(text.substr(offset));
  return {step.code_point, step.size, ClassOf(step.code_point)};
}

/// Where the run of characters of class `kind` that starts at `offset` ends.
std::size_t RunEnd(std::string_view text, std::size_t offset, CharClass kind) {
  Char c = CharAt(text, offset);
  while (c.Is(kind)) {
    offset += c.size;
    c = CharAt(text, offset);
  }
  return offset;
}

/// A letter of ASCII in lower case, anything else as it is.
constexpr char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

std::size_t MatchContraction(std::string_view text) {
  if (text.size() < 2 || text[0] != '\'') return 0;
  const char first = Lower(text[1]);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
  const char second = text.size() > 2 ? Lower(text[2]) : '\0';
  const bool two_letters = (first == 'r' && second == 'e') || (first == 'v' && second == 'e') ||
                           (first == 'l' && second == 'l');
  return two_letters ? 3 : 0;
}

/// [^\r\n\p{L}\p{N}]?\p{L}+
std::size_t MatchWord(std::string_view text, const Char& first) {
  if (first.Is(CharClass::kLetter)) return RunEnd(text, first.size, CharClass::kLetter);
  if (first.Is(CharClass::kNumber) || first.IsNewline()) return 0;
  const std::size_t end = RunEnd(text, first.size, CharClass::kLetter);
  return end > first.size ? end : 0;
}

/// \p{N}{1,max_digits}
std::size_t MatchNumber(std::string_view text, const Char& first, int max_digits) {
  std::size_t end = 0;
  Char c = first;
  for (int digits = 0; digits < max_digits && c.Is(CharClass::kNumber); ++digits) {
    end += c.size;
    c = CharAt(text, end);
  }
  return end;
}

///  ?[^\s\p{L}\p{N}]+[\r\n]*
std::size_t MatchPunctuation(std::string_view text, const Char& first) {
  const std::size_t start = first.code_point == ' ' ? 1 : 0;
  std::size_t end = RunEnd(text, start, CharClass::kOther);
  if (end == start) return 0;
  while (end < text.size() && (text[end] == '\r' || text[end] == '\n')) ++end;
  return end;
}

/// \s*[\r\n]+ | \s+(?!\S) | \s+  for a text that starts with white space: up to the last line
/// break of the run if it has one; else the run without its last character, which goes with what
/// follows, unless nothing follows or there is no other character.
std::size_t MatchSpace(std::string_view text, const Char& first) {
  std::size_t newline_end = 0, last_start = 0, end = 0;
  for (Char c = first; c.Is(CharClass::kSpace); c = CharAt(text, end)) {
    last_start = end;
    end += c.size;
    if (c.IsNewline()) newline_end = end;
  }
  if (newline_end != 0) return newline_end;
  return end == text.size() || last_start == 0 ? end : last_start;
}

/// LLaMA-3's pattern, and with max_digits 1 Qwen2's.
std::size_t FirstModernPieceSize(std::string_view text, int max_digits) {
  const Char first = CharAt(text, 0);
  if (const std::size_t size = MatchContraction(text)) return size;
  if (const std::size_t size = MatchWord(text, first)) return size;
  if (const std::size_t size = MatchNumber(text, first, max_digits)) return size;
  if (const std::size_t size = MatchPunctuation(text, first)) return size;
  return MatchSpace(text, first);
}

/// 's|'t|'re|'ve|'m|'ll|'d in lower case.
std::size_t MatchLowerContraction(std::string_view text) {
  for (const std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
    if (text.starts_with(ending)) return ending.size();
  }
  return 0;
}

/// \s+(?!\S) | \s+  for a text that starts with white space.
std::size_t MatchPlainSpace(std::string_view text) {
  std::size_t last_start = 0, end = 0;
  for (Char c = CharAt(text, 0); c.Is(CharClass::kSpace); c = CharAt(text, end)) {
    last_start = end;
    end += c.size;
  }
  return end == text.size() || last_start == 0 ? end : last_start;
}

std::size_t FirstGpt2PieceSize(std::string_view text) {
  if (const std::size_t size = MatchLowerContraction(text)) return size;
  // A space goes with the run that follows, whatever its class.
  const std::size_t start = text[0] == ' ' ? 1 : 0;
  const Char first = CharAt(text, start);
  if (first.size != 0 && first.kind != CharClass::kSpace) return RunEnd(text, start, first.kind);
  return MatchPlainSpace(text);
}

/// The run of characters at the front of `text` of which `is_match` says the same as of the first.
template <class IsMatch>
std::size_t FirstRunSize(std::string_view text, IsMatch is_match) {
  Char c = CharAt(text, 0);
  const bool matches = is_match(c.code_point);
  std::size_t end = 0;
  while (c.size != 0 && is_match(c.code_point) == matches) {
    end += c.size;
    c = CharAt(text, end);
  }
  return end;
}

/// One character if it matches, else all up to the next that does.
template <class IsMatch>
std::size_t FirstSingleSize(std::string_view text, IsMatch is_match) {
  const Char c = CharAt(text, 0);
  return is_match(c.code_point) ? c.size : FirstRunSize(text, is_match);
}

bool IsNumber(char32_t c) { return ClassOf(c) == CharClass::kNumber; }
bool IsAsciiDigit(char32_t c) { return c >= '0' && c <= '9'; }
bool IsMarkNoTick(char32_t c) {
  constexpr std::string_view kAsciiSymbols = "$+<=>^~|";
  return c < 0x80 ? IsPunctuation(c) ||
                        kAsciiSymbols.find(static_cast<char>(c)) != std::string_view::npos
                  : IsPunctuation(c);
}
bool IsMark(char32_t c) { return c == '`' || IsMarkNoTick(c); }

std::size_t FirstTripleSize(std::string_view text) {
  const auto is_triple = [text](std::size_t at) {
    const auto digit = [text](std::size_t i) {
      return i < text.size() && IsAsciiDigit(static_cast<unsigned char>(text[i]));
    };
    return digit(at) && digit(at + 1) && digit(at + 2);
  };
  if (is_triple(0)) return 3;
  std::size_t end = 1;
  while (end < text.size() && !is_triple(end)) ++end;
  return end;
}

/// Bytes whose letter in the byte alphabet is a number.
bool IsSpelledNumber(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return IsAsciiDigit(byte) || byte == 0xb2 || byte == 0xb3 || byte == 0xb9 ||
         (byte >= 0xbc && byte <= 0xbe);
}

std::size_t FirstSpelledSize(std::string_view text, bool each) {
  const bool matches = IsSpelledNumber(text[0]);
  if (matches && each) return 1;
  std::size_t end = 1;
  while (end < text.size() && IsSpelledNumber(text[end]) == matches) ++end;
  return end;
}

}  // namespace

std::size_t FirstLlama3PieceSize(std::string_view text) noexcept {
  return FirstModernPieceSize(text, 3);
}

std::size_t FirstPieceSize(Pass pass, std::string_view text) noexcept {
  switch (pass) {
    case Pass::kLlama3:
      return FirstModernPieceSize(text, 3);
    case Pass::kQwen2:
      return FirstModernPieceSize(text, 1);
    case Pass::kGpt2:
      return FirstGpt2PieceSize(text);
    case Pass::kPunctuationRuns:
      return FirstRunSize(text, IsMark);
    case Pass::kPunctuationRunsNoTick:
      return FirstRunSize(text, IsMarkNoTick);
    case Pass::kPunctuationEach:
      return FirstSingleSize(text, IsMark);
    case Pass::kNumberRuns:
      return FirstRunSize(text, IsNumber);
    case Pass::kNumberEach:
      return FirstSingleSize(text, IsNumber);
    case Pass::kAsciiDigitEach:
      return FirstSingleSize(text, IsAsciiDigit);
    case Pass::kAsciiDigitTriples:
      return FirstTripleSize(text);
    case Pass::kSpelledNumberRuns:
      return FirstSpelledSize(text, false);
    case Pass::kSpelledNumberEach:
      return FirstSpelledSize(text, true);
  }
  return text.size();
}

}  // namespace bittern::tokenizer
