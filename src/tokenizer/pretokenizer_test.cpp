// SPDX-License-Identifier: Apache-2.0
// The pre-tokenizer on chosen texts, and against PCRE2 on every code point and on random texts.
#include "tokenizer/pretokenizer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "base/utf8.hpp"
#include "tokenizer/char_class.hpp"
#include "tokenizer/pcre2_oracle.hpp"

namespace bittern::tokenizer {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> Pieces(std::string_view text) {
  std::vector<std::string> pieces;
  while (!text.empty()) {
    const std::size_t size = FirstLlama3PieceSize(text);
    pieces.emplace_back(text.substr(0, size));
    if (size == 0) break;  // a defect; do not loop for ever
    text.remove_prefix(size);
  }
  return pieces;
}

std::vector<std::string> OraclePieces(const Pcre2Pattern& oracle, std::string_view text) {
  std::vector<std::string> pieces;
  while (!text.empty()) {
    const std::size_t size = oracle.Match(text);
    pieces.emplace_back(text.substr(0, size));
    if (size == 0) break;
    text.remove_prefix(size);
  }
  return pieces;
}

TEST(Pretokenizer, EachAlternative) {
  EXPECT_THAT(Pieces("don't I'LL"), ElementsAre("don", "'t", " I", "'LL"));
  EXPECT_THAT(Pieces("'stuff 'rE'Ve'm'd"),
              ElementsAre("'s", "tuff", " '", "rE", "'Ve", "'m", "'d"));
  EXPECT_THAT(Pieces("'l'r'v"), ElementsAre("'l", "'r", "'v"));
  EXPECT_THAT(Pieces("\tword(word"), ElementsAre("\tword", "(word"));
  EXPECT_THAT(Pieces("12345 6"), ElementsAre("123", "45", " ", "6"));
  EXPECT_THAT(Pieces(" !?\r\n\nx"), ElementsAre(" !?\r\n\n", "x"));
  EXPECT_THAT(Pieces("  \n  x"), ElementsAre("  \n", " ", " x"));
  EXPECT_THAT(Pieces("a   "), ElementsAre("a", "   "));
  EXPECT_THAT(Pieces("   1"), ElementsAre("  ", " ", "1"));
  EXPECT_THAT(Pieces("\nx"), ElementsAre("\n", "x"));
}

TEST(Pretokenizer, WhiteSpaceIsThePropertyNotTheCategory) {
  // Of a run before a non-space, the last character goes with what follows; U+200B, U+FEFF and
  // U+180E are no spaces.
  EXPECT_THAT(Pieces("  \u2003x"), ElementsAre("  ", "\u2003x"));
  EXPECT_THAT(Pieces("\u0085\u00851"), ElementsAre("\u0085", "\u0085", "1"));
  EXPECT_THAT(Pieces("\u20281"), ElementsAre("\u2028", "1"));
  EXPECT_THAT(Pieces(" \u180e1"), ElementsAre(" \u180e", "1"));
  EXPECT_THAT(Pieces(" \u200b\ufeff1"), ElementsAre(" \u200b\ufeff", "1"));
}

TEST(Pretokenizer, LongSIsNotAnSInContractions) {
  EXPECT_THAT(Pieces("it'\u017ft"), ElementsAre("it", "'\u017ft"));
  // A caseless pattern would cut after it; this is why kLlama3Pattern spells both cases out.
  EXPECT_EQ(Pcre2Pattern("(?i:'s)").Match("'\u017ft"), 3u);
}

TEST(Pretokenizer, OraclesSpaceDiffersFromWhiteSpaceInOneCodePoint) {
  const Pcre2Pattern space("\\s");
  std::vector<char32_t> different;
  for (char32_t c = 0; c <= 0x10ffff; ++c) {
    if (c >= 0xd800 && c <= 0xdfff) continue;
    std::string text;
    AppendUtf8(c, &text);
    if ((space.Match(text) != 0) != (ClassOf(c) == CharClass::kSpace)) different.push_back(c);
  }
  EXPECT_THAT(different, ElementsAre(U'\u180e'));
}

TEST(Pretokenizer, InvalidBytesAreCutOffToo) {
  EXPECT_THAT(Pieces("a\xff\xe2\x82z"), ElementsAre("a", "\xff\xe2\x82", "z"));
}

/// A run of a million characters takes time proportional to its length, as does each piece.
TEST(Pretokenizer, LongRunsAreOnePiece) {
  for (const char c : {'a', ' ', '\n', '!'}) {
    const std::string run(1'000'000, c);
    EXPECT_EQ(FirstLlama3PieceSize(run), run.size()) << c;
  }
  EXPECT_EQ(Pieces(std::string(999'999, '7')).size(), 333'333u);
}

const Comparable& IsComparable() {
  static const Comparable comparable;
  return comparable;
}

std::string Escaped(std::string_view text) {
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

TEST(PretokenizerAgainstPcre2, EveryCodePointInEveryPlace) {
  const Pcre2Pattern oracle(kLlama3Pattern);
  int compared = 0;
  for (char32_t c = 0; c <= 0x10ffff; ++c) {
    if (!IsComparable()(c)) continue;
    std::string s;
    AppendUtf8(c, &s);
    for (const std::string& text :
         {s, "a" + s + "a", "1" + s + s + "1", " " + s + " " + s + "\n" + s}) {
      ASSERT_EQ(Pieces(text), OraclePieces(oracle, text)) << Escaped(text);
      ++compared;
    }
  }
  RecordProperty("excluded_code_points", IsComparable().num_excluded());
  std::printf("%d texts compared, %d code points excluded (known to one Unicode version only)\n",
              compared, IsComparable().num_excluded());
  // One Unicode version adds thousands at most; more would hide a defect.
  EXPECT_LT(IsComparable().num_excluded(), 12'000);
  EXPECT_GT(compared, 4'000'000);
}

/// Characters of every class and every special role, as UTF-8.
const std::vector<std::vector<std::u32string>>& Alphabets() {
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

std::string RandomText(std::mt19937& random) {
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

TEST(PretokenizerAgainstPcre2, RandomTexts) {
  for (const auto& alphabet : Alphabets()) {
    for (const auto& entry : alphabet) {
      for (const char32_t c : entry) ASSERT_TRUE(IsComparable()(c)) << static_cast<unsigned>(c);
    }
  }
  const Pcre2Pattern oracle(kLlama3Pattern);
  std::mt19937 random(20251121);
  for (int i = 0; i < 400'000; ++i) {
    const std::string text = RandomText(random);
    ASSERT_EQ(Pieces(text), OraclePieces(oracle, text)) << Escaped(text);
  }
}

TEST(PretokenizerAgainstPcre2, RandomCodePoints) {
  const Pcre2Pattern oracle(kLlama3Pattern);
  std::mt19937 random(7);
  for (int i = 0; i < 100'000; ++i) {
    std::string text;
    for (unsigned length = random() % 12; length > 0;) {
      // Half of them from the planes where most letters live.
      const char32_t c = random() % (random() % 2 == 0 ? 0x3000 : 0x110000);
      if (!IsComparable()(c)) continue;
      AppendUtf8(c, &text);
      --length;
    }
    ASSERT_EQ(Pieces(text), OraclePieces(oracle, text)) << Escaped(text);
  }
}

}  // namespace
}  // namespace bittern::tokenizer
