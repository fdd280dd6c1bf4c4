// SPDX-License-Identifier: Apache-2.0
// Every pre-tokenizer that GGUF names: on chosen texts, and against PCRE2 on code points in several
// surroundings and on random texts.
#include "tokenizer/pretokenizer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "formats/pre_rules.hpp"
#include "tokenizer/regex/pcre2_oracle.hpp"
#include "tokenizer/texts_for_test.hpp"

namespace bittern::tokenizer {
namespace {

using formats::AllPreRules;
using formats::FindPreRules;
using formats::PreRules;
using ::testing::ElementsAre;

std::vector<Pass> PassesOf(const PreRules& rules) {
  std::vector<Pass> passes;
  for (const std::string_view pattern : rules.patterns) {
    auto regex = Regex::Compile(pattern, TextUnit::kUtf8);
    EXPECT_TRUE(regex.has_value()) << regex.error().message;
    passes.push_back({*std::move(regex)});
  }
  return passes;
}

std::vector<std::string> Pieces(const std::vector<Pass>& passes, std::string_view text) {
  std::vector<std::string> pieces;
  PieceCutter(passes).ForEachPiece(text,
                                   [&](std::string_view piece) { pieces.emplace_back(piece); });
  return pieces;
}

std::vector<std::string> Pieces(std::string_view name, std::string_view text) {
  return Pieces(PassesOf(*FindPreRules(name)), text);
}

TEST(Pretokenizer, Llama3) {
  const auto pieces = [](std::string_view text) { return Pieces("llama-bpe", text); };
  EXPECT_THAT(pieces("don't I'LL"), ElementsAre("don", "'t", " I", "'LL"));
  EXPECT_THAT(pieces("'stuff 'rE'Ve'm'd"),
              ElementsAre("'s", "tuff", " '", "rE", "'Ve", "'m", "'d"));
  EXPECT_THAT(pieces("'l'r'v"), ElementsAre("'l", "'r", "'v"));
  EXPECT_THAT(pieces("\tword(word"), ElementsAre("\tword", "(word"));
  EXPECT_THAT(pieces("12345 6"), ElementsAre("123", "45", " ", "6"));
  EXPECT_THAT(pieces(" !?\r\n\nx"), ElementsAre(" !?\r\n\n", "x"));
  EXPECT_THAT(pieces("  \n  x"), ElementsAre("  \n", " ", " x"));
  EXPECT_THAT(pieces("a   "), ElementsAre("a", "   "));
  EXPECT_THAT(pieces("   1"), ElementsAre("  ", " ", "1"));
  // A caseless pattern would cut after the long s; this is why ForPcre2 spells both cases out.
  EXPECT_THAT(pieces("it'\u017ft"), ElementsAre("it", "'\u017ft"));
  EXPECT_EQ(Pcre2Pattern("(?i:'s)").Match("'\u017ft"), 3u);
  // In a run before a non-space, the last character goes with what follows; U+200B, U+FEFF and
  // U+180E are no spaces.
  EXPECT_THAT(pieces("  \u2003x"), ElementsAre("  ", "\u2003x"));
  EXPECT_THAT(pieces(" \u180e1"), ElementsAre(" \u180e", "1"));
}

TEST(Pretokenizer, WhatTellsOthersApart) {
  EXPECT_THAT(
      Pieces("gpt-2", "don't I'LL 123  x\t\ty\n\n"),
      ElementsAre("don", "'t", " I", "'", "LL", " 123", " ", " x", "\t", "\t", "y", "\n\n"));
  EXPECT_THAT(Pieces("qwen2", "a 123"), ElementsAre("a", " ", "1", "2", "3"));
  EXPECT_THAT(Pieces("tekken", "camelCase XMLFile it's"),
              ElementsAre("camel", "Case", " XMLFile", " it", "'s"));
  EXPECT_THAT(Pieces("gpt-4o", "camelCase it's 1234"),
              ElementsAre("camel", "Case", " it's", " ", "123", "4"));
  EXPECT_THAT(Pieces("deepseek-v3", "a1234 \u6f22\u5b57x .ab"),
              ElementsAre("a", "123", "4", " ", "\u6f22\u5b57", "x", " .", "ab"));
  EXPECT_THAT(Pieces("kimi-k2", "\u6f22\u5b57abc"), ElementsAre("\u6f22\u5b57", "abc"));
  EXPECT_THAT(Pieces("superbpe", "a12345"), ElementsAre("a", "12", "345"));
  EXPECT_THAT(Pieces("bloom", "Hello, world"), ElementsAre("Hello", ",", " world"));
  EXPECT_THAT(Pieces("afmoe", "1234567"), ElementsAre("1", "234", "567"));
  EXPECT_THAT(Pieces("ufakzeka", "Ali'den"), ElementsAre("Ali", "'den"));
}

TEST(Pretokenizer, NamesAreUnique) {
  std::set<std::string_view> names;
  for (const PreRules& rules : AllPreRules()) {
    EXPECT_GT(rules.patterns.size(), 0u);
    for (const std::string_view name : rules.names) EXPECT_TRUE(names.insert(name).second) << name;
  }
  EXPECT_EQ(FindPreRules("nobody"), nullptr);
  EXPECT_EQ(FindPreRules(""), nullptr);
}

Pass PassOf(std::string_view pattern, SplitBehavior behavior, bool inverted = false) {
  return {Regex::Compile(pattern, TextUnit::kUtf8).value(), behavior, inverted};
}

/// The examples of Hugging Face's documentation, on its text.
TEST(Pretokenizer, Behaviors) {
  const auto pieces = [](SplitBehavior behavior, bool inverted = false) {
    return Pieces({PassOf("-", behavior, inverted)}, "the-final--countdown");
  };
  EXPECT_THAT(pieces(SplitBehavior::kRemoved), ElementsAre("the", "final", "countdown"));
  EXPECT_THAT(pieces(SplitBehavior::kRemoved, true), ElementsAre("-", "-", "-"));
  EXPECT_THAT(pieces(SplitBehavior::kIsolated),
              ElementsAre("the", "-", "final", "-", "-", "countdown"));
  EXPECT_THAT(pieces(SplitBehavior::kContiguous),
              ElementsAre("the", "-", "final", "--", "countdown"));
  EXPECT_THAT(pieces(SplitBehavior::kMergedWithPrevious),
              ElementsAre("the-", "final-", "-", "countdown"));
  EXPECT_THAT(pieces(SplitBehavior::kMergedWithNext),
              ElementsAre("the", "-final", "-", "-countdown"));
  Pass spaced = PassOf("[a-z]+", SplitBehavior::kIsolated);
  spaced.adds_space = true;
  EXPECT_THAT(Pieces({spaced}, "ab"), ElementsAre(" ", "ab"));
  EXPECT_THAT(Pieces({spaced}, " ab"), ElementsAre(" ", "ab"));
  EXPECT_THAT(Pieces({spaced}, ""), ElementsAre());
}

class PreRulesTest : public ::testing::TestWithParam<PreRules> {
 protected:
  PreRulesTest() : passes_(PassesOf(GetParam())) {
    for (const std::string_view pattern : GetParam().patterns) {
      oracles_.emplace_back(ForPcre2(pattern));
    }
  }
  void Compare(const std::string& text) {
    ASSERT_EQ(Pieces(passes_, text), OraclePieces(oracles_, text)) << Escaped(text);
  }

  std::vector<Pass> passes_;
  std::vector<Pcre2Pattern> oracles_;
};

TEST_P(PreRulesTest, CodePointsInEveryPlace) {
  for (char32_t c = 0; c <= 0x10ffff; ++c) {
    // All that have a role in some pattern, and a sample of the rest.
    const bool wanted = c < 0x600 || (c < 0x3400 && c % 5 == 0) || c % 97 == 0;
    if (!IsComparable()(c) || !wanted) continue;
    std::string s;
    AppendUtf8(c, &s);
    ASSERT_NO_FATAL_FAILURE(Compare(s + "a" + s + " " + s + s + "\n" + s + "12" + s));
  }
}

TEST_P(PreRulesTest, RandomTexts) {
  std::mt19937 random(20251121);
  for (int i = 0; i < 10'000; ++i) ASSERT_NO_FATAL_FAILURE(Compare(RandomText(random)));
}

TEST_P(PreRulesTest, RandomCodePoints) {
  std::mt19937 random(7);
  for (int i = 0; i < 3'000; ++i) {
    std::string text;
    for (unsigned length = random() % 12; length > 0;) {
      // Half of them from the planes where most letters live.
      const char32_t c = random() % (random() % 2 == 0 ? 0x3000 : 0x110000);
      if (!IsComparable()(c)) continue;
      AppendUtf8(c, &text);
      --length;
    }
    ASSERT_NO_FATAL_FAILURE(Compare(text));
  }
}

TEST_P(PreRulesTest, NothingIsLostInLongRuns) {
  for (const std::string_view unit :
       {"a", " ", "\n", "!", "7", "\u00e9", "\u65e5", "\xff", "a B"}) {
    std::string text;
    while (text.size() < 200'000) text += unit;
    std::size_t total = 0;
    for (const std::string& piece : Pieces(passes_, text)) total += piece.size();
    EXPECT_EQ(total, text.size());
  }
}

INSTANTIATE_TEST_SUITE_P(All, PreRulesTest,
                         ::testing::ValuesIn(AllPreRules().begin(), AllPreRules().end()),
                         [](const auto& test) {
                           std::string name(*test.param.names.begin());
                           for (char& c : name) {
                             if (c == '-' || c == '.') c = '_';
                           }
                           return name;
                         });

/// The random texts above are of characters that both libraries know.
TEST(PretokenizerAgainstPcre2, TheAlphabetsAreComparable) {
  for (const auto& alphabet : Alphabets()) {
    for (const auto& entry : alphabet) {
      for (const char32_t c : entry) ASSERT_TRUE(IsComparable()(c)) << static_cast<unsigned>(c);
    }
  }
  // One Unicode version adds thousands at most; more would hide a defect.
  EXPECT_LT(IsComparable().num_excluded(), 12'000);
}

}  // namespace
}  // namespace bittern::tokenizer

namespace bittern::formats {

void PrintTo(const PreRules& rules, std::ostream* out) { *out << *rules.names.begin(); }

}  // namespace bittern::formats
