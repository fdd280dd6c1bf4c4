// SPDX-License-Identifier: Apache-2.0
// The regular expressions on chosen texts, random ones against PCRE2, and what is refused.
#include "tokenizer/regex/regex.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tokenizer/regex/pcre2_oracle.hpp"
#include "tokenizer/texts_for_test.hpp"

namespace bittern::tokenizer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Matches = std::vector<std::pair<std::size_t, std::size_t>>;

Matches Find(const Regex& regex, std::string_view text) {
  Regex::Scratch scratch;
  Matches matches;
  regex.ForEachMatch(text, &scratch,
                     [&](std::size_t begin, std::size_t end) { matches.emplace_back(begin, end); });
  return matches;
}

std::vector<std::string> Found(std::string_view pattern, std::string_view text,
                               TextUnit unit = TextUnit::kUtf8) {
  std::vector<std::string> found;
  const auto regex = Regex::Compile(pattern, unit);
  if (!regex) return {regex.error().message};
  for (const auto& [begin, end] : Find(*regex, text)) {
    found.emplace_back(text.substr(begin, end - begin));
  }
  return found;
}

TEST(Regex, TakesTheFirstAlternativeNotTheLongest) {
  EXPECT_THAT(Found("a|ab|b", "abab"), ElementsAre("a", "b", "a", "b"));
  EXPECT_THAT(Found("(?:a|ab)(?:c|bcd)", "abcd"), ElementsAre("abcd"));
  EXPECT_THAT(Found("a+?b?", "aaab"), ElementsAre("a", "a", "ab"));
  EXPECT_THAT(Found("a*?b", "aaab"), ElementsAre("aaab"));
  EXPECT_THAT(Found("[ab]{2,3}", "aaaabb"), ElementsAre("aaa", "abb"));
  EXPECT_THAT(Found("[ab]{2,}c", "abababc"), ElementsAre("abababc"));
}

TEST(Regex, LooksAhead) {
  EXPECT_THAT(Found("\\s+(?!\\S)|\\s+", "a   b  "), ElementsAre("  ", " ", "  "));
  EXPECT_THAT(Found("(?=(\\d{3})+(?!\\d))", "x1234567"), ElementsAre("", ""));
  EXPECT_THAT(Found("\\d{1,3}(?=(?:\\d{3})*\\b)", "1234567 12345a"),
              ElementsAre("1", "234", "567"));
  EXPECT_THAT(Found("a(?=b(?!c))", "abcabd"), ElementsAre("a"));
  EXPECT_THAT(Found("\\s+$", "a  b  "), ElementsAre("  "));
  EXPECT_THAT(Found("b$", "b\nb"), ElementsAre("b", "b"));
  EXPECT_THAT(Found("b\\z", "b\nb"), ElementsAre("b"));
  EXPECT_THAT(Found("\\bab\\b", "ab abc \u00e9ab ab"), ElementsAre("ab", "ab"));
}

TEST(Regex, PossessiveRepeatsGiveNothingBack) {
  EXPECT_THAT(Found("a?+ab", "ab aab"), ElementsAre("aab"));
  EXPECT_THAT(Found("a++[ab]", "aaab aaa"), ElementsAre("aaab"));
  EXPECT_THAT(Found("a*+b?", "aab"), ElementsAre("aab"));
}

TEST(Regex, Sets) {
  EXPECT_THAT(Found("[^\\s\\p{L}-]+", "a-1!b"), ElementsAre("1!"));
  EXPECT_THAT(Found("[a-c&&[^b]]+", "abcca"), ElementsAre("a", "cca"));
  EXPECT_THAT(Found("[\\x41\\x{e9}\\u0416]", "A\u00e9\u0416B"),
              ElementsAre("A", "\u00e9", "\u0416"));
  EXPECT_THAT(Found("(?i:[sd]|Re)", "SrErd"), ElementsAre("S", "rE", "d"));
  EXPECT_THAT(Found("(?i:s)", "\u017f"), ElementsAre());
  EXPECT_THAT(Found(".+", "ab\ncd"), ElementsAre("ab", "cd"));
  EXPECT_THAT(Found("[\\]\\-a]+", "a]-b"), ElementsAre("a]-"));
  EXPECT_THAT(Found("\\PL", "a1"), ElementsAre("1"));
}

/// Bytes as letters of the byte alphabet: 0xB2 is U+00B2, a number; 0x20 is U+0120, a letter.
TEST(Regex, BytesAreReadInTheByteAlphabet) {
  EXPECT_THAT(Found("\\p{N}", "1\xb2\x80", TextUnit::kByte), ElementsAre("1", "\xb2"));
  EXPECT_THAT(Found("\\p{L}+", "a b", TextUnit::kByte), ElementsAre("a b"));
  EXPECT_THAT(Found("\\s", " \t\n", TextUnit::kByte), ElementsAre());
}

TEST(Regex, BadBytesCountAsReplacementCharacters) {
  EXPECT_THAT(Found("\\x{fffd}", "a\xff\xe2\x82z"), ElementsAre("\xff", "\xe2\x82"));
}

TEST(Regex, RefusesWhatItDoesNotKnow) {
  for (const char* pattern :
       {"(?<=a)b",
        "(?<!a)",
        "a**",
        "a{2}{3}",
        "(?P<x>a)",
        "\\1",
        "\\G",
        "^a",
        "[[:alpha:]]",
        "(a",
        "a)",
        "[a",
        "[]",
        "[b-a]",
        "\\p{Greek}",
        "\\p{",
        "\\",
        "\\x4",
        "a{",
        "a{3,2}",
        "a{2000}",
        "*a",
        "(?:ab)++",
        "(?=a)*",
        "(a?)*",
        "(?:|a)+",
        "\\A",
        "(?i:\u00e9)",
        "\xff",
        "[a-\\d]",
        "(?#x)",
        "(?>a)",
        "(((((((((((((((((((((((((((((((((((a)))))))))))))))))))))))))))))))))))",
        "(?:(?:a{1000}){1000})",
        "[ab]{30}a[ab]*c"}) {
    const auto regex = Regex::Compile(pattern, TextUnit::kUtf8);
    ASSERT_FALSE(regex.has_value()) << pattern;
    EXPECT_EQ(regex.error().code, ErrorCode::kUnsupported) << pattern;
    EXPECT_THAT(regex.error().message, HasSubstr("regular expression")) << pattern;
  }
}

/// A pattern made of parts that clash: overlapping sets, forks, repeats, lookahead.
std::string RandomPattern(std::mt19937& random, int depth) {
  static const std::vector<std::string> kAtoms = {
      "a", "b", "[ab]", "[^a]", "\\p{L}", "\\p{N}", "[^\\p{N}b]", " ", "\\n", "\u65e5", "."};
  const auto below = [&random](std::size_t n) { return random() % n; };
  const std::size_t kind = depth == 0 ? 0 : below(8);
  const std::string atom = kAtoms[below(kAtoms.size())];
  if (kind <= 1) return atom;
  const std::string first = RandomPattern(random, depth - 1);
  if (kind <= 3) return first + RandomPattern(random, depth - 1);
  if (kind == 4) return "(?:" + first + "|" + RandomPattern(random, depth - 1) + ")";
  if (kind == 5) {
    static const std::vector<std::string> kRepeats = {"?",  "*",   "+",     "??",   "*?",
                                                      "+?", "{2}", "{1,3}", "{2,}", "{0,2}?"};
    return "(?:" + first + ")" + kRepeats[below(kRepeats.size())];
  }
  if (kind == 6) return (below(2) == 0 ? "(?=" : "(?!") + first + ")" + atom;
  static const std::vector<std::string> kPossessive = {"a?+", "[ab]*+", "\\p{L}++", "b+"};
  return kPossessive[below(kPossessive.size())];
}

TEST(RegexAgainstPcre2, RandomPatternsAndTexts) {
  std::mt19937 random(20261122);
  static const std::vector<std::string> kLetters = {"a", "b", "ab", "c", "1", " ", "\n", "\u65e5"};
  int compared = 0, refused = 0;
  for (int i = 0; i < 3'000; ++i) {
    const std::string pattern = RandomPattern(random, 4);
    const auto regex = Regex::Compile(pattern, TextUnit::kUtf8);
    if (!regex) {
      EXPECT_THAT(regex.error().message, HasSubstr("repeats what may be empty")) << pattern;
      ++refused;
      continue;
    }
    const Pcre2Pattern oracle(pattern);
    for (int j = 0; j < 20; ++j) {
      std::string text;
      for (std::size_t length = random() % 12; length > 0; --length) {
        text += kLetters[random() % kLetters.size()];
      }
      Matches expected;
      for (std::size_t at = 0; at < text.size();) {
        const std::ptrdiff_t size = oracle.MatchAt(text, at);
        if (size >= 0) expected.emplace_back(at, at + static_cast<std::size_t>(size));
        at += size > 0 ? static_cast<std::size_t>(size) : DecodeUtf8(text.substr(at)).size;
      }
      ASSERT_EQ(Find(*regex, text), expected) << pattern << " on " << Escaped(text);
      ++compared;
    }
  }
  EXPECT_GT(compared, 30'000);
  EXPECT_GT(refused, 0);
}

/// A backtracking engine takes time quadratic or worse for each of these.
TEST(Regex, TimeIsLinear) {
  const std::pair<const char*, const char*> kHard[] = {
      {"\\s+$", " "},
      {"(?:a|a)*b", "a"},
      {"\\d{1,3}(?=(?:\\d{3})*\\b)", "1"},
      {"[ab]*[ab]*c", "ab"},
      {"(?=(\\d{3})+(?!\\d))", "1"},
      {"<s:[0-9]+>", "<s:1"},
      {"(?:x+x+)+y", "x"},
  };
  for (const auto& [pattern, unit] : kHard) {
    const auto regex = Regex::Compile(pattern, TextUnit::kUtf8);
    ASSERT_TRUE(regex.has_value()) << pattern << regex.error().message;
    std::string text;
    while (text.size() < 2'000'000) text += unit;
    text += "z";
    const auto start = std::chrono::steady_clock::now();
    (void)Find(*regex, text);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    EXPECT_LT(seconds.count(), 5.0) << pattern;  // milliseconds; a quadratic one takes hours
  }
}

}  // namespace
}  // namespace bittern::tokenizer
