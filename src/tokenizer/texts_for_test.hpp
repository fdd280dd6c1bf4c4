// SPDX-License-Identifier: Apache-2.0
// Texts that try every corner of pre-tokenizers: characters of every class and role, in runs and
// next to each other. For tests only.
#pragma once

#include <cstdio>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.hpp"
#include "tokenizer/regex/pcre2_oracle.hpp"

namespace bittern::tokenizer {

/// The code points of a text in hexadecimal, for failure messages.
inline std::string Escaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Utf8Step step = DecodeUtf8(text);
    char buffer[16];
    std::snprintf(buffer, sizeof buffer, "%04X ", static_cast<unsigned>(step.code_point));
    out += buffer;
    text.remove_prefix(step.size);
  }
  return out;
}

inline const Comparable& IsComparable() {
  static const Comparable comparable;
  return comparable;
}

/// Characters of every class and every special role, as UTF-8.
inline const std::vector<std::vector<std::u32string>>& Alphabets() {
  static const std::vector<std::vector<std::u32string>> alphabets = {
      // letters of several scripts, with and without case
      {U"a", U"Z", U"s", U"t", U"é", U"ſ", U"я", U"λ", U"日", U"한", U"ا", U"ह", U"ไ", U"ʰ", U"ǅ",
       U"\U0001d400", U"\U00020000", U"\u212a"},
      // marks: spacing, non-spacing, enclosing
      {U"\u0301", U"\u0903", U"\u20dd", U"\u093f", U"\ufe0f", U"\u0e31"},
      // numbers: Nd, Nl, No
      {U"0", U"9", U"٣", U"१", U"１", U"Ⅷ", U"〇", U"½", U"²", U"①", U"\U0001d7d8"},
      // white space, all 25
      {U"\t",     U"\n",     U"\v",     U"\f",     U"\r",     U" ",      U"\u0085",
       U"\u00a0", U"\u1680", U"\u2000", U"\u2001", U"\u2002", U"\u2003", U"\u2004",
       U"\u2005", U"\u2006", U"\u2007", U"\u2008", U"\u2009", U"\u200a", U"\u2028",
       U"\u2029", U"\u202f", U"\u205f", U"\u3000", U"\r\n",   U"  "},
      // almost white space, controls, unassigned, private, non-characters
      {U"\u200b", U"\u180e", U"\ufeff", U"\u2060", U"\u0001", U"\u001c", U"\u007f", U"\u0378",
       U"\ue000", U"\U0010ffff", U"\ufffe", std::u32string(1, U'\0'), U"\ufffd"},
      // punctuation and symbols
      {U".", U",", U"!", U"(", U"_", U"-", U"$", U"+", U"^", U"|", U"«", U"、", U"€", U"`",
       U"\u2019"},
      // emoji
      {U"😀", U"👩\u200d👩\u200d👧", U"🏽", U"🇩🇪", U"1\ufe0f\u20e3", U"❤\ufe0f"},
      // contractions in every case, and what looks like them
      {U"'s",  U"'S",  U"'t", U"'T", U"'re", U"'Re", U"'rE",    U"'RE", U"'ve",
       U"'VE", U"'vE", U"'m", U"'M", U"'ll", U"'Ll", U"'lL",    U"'LL", U"'d",
       U"'D",  U"'",   U"''", U"'l", U"'r",  U"'ſ",  U"\u2019s"},
  };
  return alphabets;
}

/// A few alphabets mixed, up to about 30 characters.
inline std::string RandomText(std::mt19937& random) {
  const auto below = [&random](std::size_t n) { return random() % n; };
  std::string text;
  // Few alphabets per text, so that runs and neighbourhoods of every kind occur.
  const std::size_t num_kinds = 1 + below(4);
  std::vector<std::size_t> kinds;
  for (std::size_t i = 0; i < num_kinds; ++i) kinds.push_back(below(Alphabets().size()));
  for (std::size_t i = 0, length = below(24); i < length; ++i) {
    const auto& alphabet = Alphabets()[kinds[below(kinds.size())]];
    const std::u32string& choice = alphabet[below(alphabet.size())];
    for (std::size_t repeats = below(8) == 0 ? below(6) : 1; repeats > 0; --repeats) {
      for (const char32_t c : choice) AppendUtf8(c, &text);
    }
  }
  return text;
}

}  // namespace bittern::tokenizer
