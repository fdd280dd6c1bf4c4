// SPDX-License-Identifier: Apache-2.0
// Every pass on chosen texts, and against PCRE2 on every code point and on random texts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tokenizer/pcre2_oracle.hpp"
#include "tokenizer/pretokenizer.hpp"
#include "tokenizer/texts_for_test.hpp"

namespace bittern::tokenizer {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> Pieces(Pass pass, std::string_view text) {
  std::vector<std::string> pieces;
  while (!text.empty()) {
    const std::size_t size = FirstPieceSize(pass, text);
    pieces.emplace_back(text.substr(0, size));
    if (size == 0) break;  // a defect; do not loop for ever
    text.remove_prefix(size);
  }
  return pieces;
}

/// Matches, and what lies between them.
std::vector<std::string> OraclePieces(const Pcre2Pattern& oracle, std::string_view text) {
  std::vector<std::string> pieces;
  std::string gap;
  while (!text.empty()) {
    const std::size_t size = oracle.Match(text);
    if (size == 0) {
      const std::size_t skipped = DecodeUtf8(text).size;
      gap += text.substr(0, skipped);
      text.remove_prefix(skipped);
      continue;
    }
    if (!gap.empty()) pieces.push_back(std::exchange(gap, {}));
    pieces.emplace_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  if (!gap.empty()) pieces.push_back(gap);
  return pieces;
}

struct PassAndPattern {
  const char* name;
  Pass pass;
  std::string pattern;
};

void PrintTo(const PassAndPattern& value, std::ostream* out) { *out << value.name; }

const PassAndPattern kPasses[] = {
    {"llama3", Pass::kLlama3, kLlama3Pattern},
    {"qwen2", Pass::kQwen2, kQwen2Pattern},
    {"gpt2", Pass::kGpt2, kGpt2Pattern},
    {"punctuation_runs", Pass::kPunctuationRuns, "[\\p{P}$+<=>^~|`]+"},
    {"punctuation_runs_no_tick", Pass::kPunctuationRunsNoTick, "[\\p{P}$+<=>^~|]+"},
    {"punctuation_each", Pass::kPunctuationEach, "[\\p{P}$+<=>^~|`]"},
    {"number_runs", Pass::kNumberRuns, "\\p{N}+"},
    {"number_each", Pass::kNumberEach, "\\p{N}"},
    {"ascii_digit_each", Pass::kAsciiDigitEach, "[0-9]"},
    {"ascii_digit_triples", Pass::kAsciiDigitTriples, "[0-9][0-9][0-9]"},
};

class PassTest : public ::testing::TestWithParam<PassAndPattern> {};

TEST_P(PassTest, EveryCodePointInEveryPlace) {
  const Pcre2Pattern oracle(GetParam().pattern);
  for (char32_t c = 0; c <= 0x10ffff; ++c) {
    // All of the lower planes, a sample of the rest.
    if (!IsComparable()(c) || (c > 0x20000 && c % 17 != 0)) continue;
    std::string s;
    AppendUtf8(c, &s);
    for (const std::string& text : {s + "a" + s, "1" + s + s + "123", " " + s + " ." + s}) {
      ASSERT_EQ(Pieces(GetParam().pass, text), OraclePieces(oracle, text)) << Escaped(text);
    }
  }
}

TEST_P(PassTest, RandomTexts) {
  const Pcre2Pattern oracle(GetParam().pattern);
  std::mt19937 random(20251121);
  for (int i = 0; i < 40'000; ++i) {
    const std::string text = RandomText(random);
    ASSERT_EQ(Pieces(GetParam().pass, text), OraclePieces(oracle, text)) << Escaped(text);
  }
}

TEST_P(PassTest, LongRunsTakeLinearTime) {
  for (const std::string_view unit : {"a", " ", "\n", "!", "7", "\u00e9", "\xff"}) {
    std::string text;
    while (text.size() < 300'000) text += unit;
    std::size_t total = 0;
    for (const std::string& piece : Pieces(GetParam().pass, text)) total += piece.size();
    EXPECT_EQ(total, text.size());
  }
}

INSTANTIATE_TEST_SUITE_P(Passes, PassTest, ::testing::ValuesIn(kPasses),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(PretokenizerPasses, Gpt2) {
  EXPECT_THAT(
      Pieces(Pass::kGpt2, "don't I'LL 123  x\t\ty\n\n"),
      ElementsAre("don", "'t", " I", "'", "LL", " 123", " ", " x", "\t", "\t", "y", "\n\n"));
}

TEST(PretokenizerPasses, Qwen2TakesDigitsOneByOne) {
  EXPECT_THAT(Pieces(Pass::kQwen2, "a 123"), ElementsAre("a", " ", "1", "2", "3"));
}

TEST(PretokenizerPasses, SpelledNumbersCutInsideCharacters) {
  // U+00F2 is C3 B2, and B2 is spelled as a superscript two.
  EXPECT_THAT(Pieces(Pass::kSpelledNumberEach, "a\u00f21 2"),
              ElementsAre("a\xc3", "\xb2", "1", " ", "2"));
  EXPECT_THAT(Pieces(Pass::kSpelledNumberRuns, "a\u00f21 2"),
              ElementsAre("a\xc3", "\xb2\x31", " ", "2"));
  // The whole set, by the rule it comes from: bytes whose letter in the alphabet is a number.
  for (unsigned byte = 0; byte < 256; ++byte) {
    const char text[] = {'x', static_cast<char>(byte)};
    const bool is_number = (byte >= '0' && byte <= '9') || byte == 0xb2 || byte == 0xb3 ||
                           byte == 0xb9 || byte == 0xbc || byte == 0xbd || byte == 0xbe;
    EXPECT_EQ(FirstPieceSize(Pass::kSpelledNumberRuns, {text, 2}), is_number ? 1u : 2u) << byte;
  }
}

}  // namespace
}  // namespace bittern::tokenizer
