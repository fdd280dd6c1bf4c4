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
#include "tokenizer/texts_for_test.hpp"

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
