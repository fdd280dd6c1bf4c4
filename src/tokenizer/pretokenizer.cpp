// SPDX-License-Identifier: Apache-2.0
// One function per alternative of the pattern, tried in the pattern's order. Each returns how
// many bytes it matches at the front of the text, 0 for "does not match".
#include "tokenizer/pretokenizer.hpp"

#include "base/utf8.hpp"
#include "tokenizer/char_class.hpp"

namespace bittern::tokenizer {
namespace {

constexpr int kMaxDigitsPerPiece = 3;

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

/// \p{N}{1,3}
std::size_t MatchNumber(std::string_view text, const Char& first) {
  std::size_t end = 0;
  Char c = first;
  for (int digits = 0; digits < kMaxDigitsPerPiece && c.Is(CharClass::kNumber); ++digits) {
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

}  // namespace

std::size_t FirstLlama3PieceSize(std::string_view text) noexcept {
  const Char first = CharAt(text, 0);
  if (const std::size_t size = MatchContraction(text)) return size;
  if (const std::size_t size = MatchWord(text, first)) return size;
  if (const std::size_t size = MatchNumber(text, first)) return size;
  if (const std::size_t size = MatchPunctuation(text, first)) return size;
  return MatchSpace(text, first);
}

}  // namespace bittern::tokenizer
