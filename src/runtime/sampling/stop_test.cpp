// SPDX-License-Identifier: Apache-2.0
// The matcher against its definition, for every way to cut the text into pieces.
#include "runtime/sampling/stop.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace bittern::runtime {
namespace {

struct StopOutcome {
  std::string text;
  bool stopped = false;
  bool operator==(const StopOutcome&) const = default;
};

void PrintTo(const StopOutcome& outcome, std::ostream* os) {
  *os << '"' << outcome.text << "\" stopped=" << outcome.stopped;
}

StopOutcome Feed(const std::vector<std::string>& stops, const std::vector<std::string>& pieces) {
  StopMatcher matcher(stops);
  StopOutcome outcome;
  for (const std::string& piece : pieces) outcome.text += matcher.Push(piece);
  outcome.text += matcher.Finish();
  outcome.stopped = matcher.stopped();
  return outcome;
}

/// The definition: read byte by byte, end at the first byte that completes a stop, and drop the
/// longest stop that ends there.
StopOutcome Define(const std::vector<std::string>& stops, const std::string& text) {
  for (std::size_t end = 1; end <= text.size(); ++end) {
    std::size_t longest = 0;
    for (const std::string& stop : stops) {
      if (!stop.empty() && text.substr(0, end).ends_with(stop)) {
        longest = std::max(longest, stop.size());
      }
    }
    if (longest > 0) return {text.substr(0, end - longest), true};
  }
  return {text, false};
}

/// Cuts `text` after byte i wherever bit i of `cuts` is set.
std::vector<std::string> Cut(const std::string& text, unsigned cuts) {
  std::vector<std::string> pieces(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    pieces.back() += text[i];
    if ((cuts >> i) & 1) pieces.emplace_back();
  }
  return pieces;
}

TEST(StopMatcher, EveryTextOfTwoLettersCutInEveryWay) {
  const std::vector<std::vector<std::string>> stop_sets = {
      {},         {""},           {"a"},          {"ab"},           {"aa"},       {"aab"},
      {"abab"},   {"aab", "abb"}, {"abba", "bb"}, {"b", "ab"},      {"bab", "b"}, {"aaaa", "aab"},
      {"", "ab"}, {"ab", "ab"},   {"abb", "bba"}, {"aabb", "abba"},
  };
  constexpr std::size_t kLength = 6;
  int stopped = 0, ran_out = 0;
  for (const auto& stops : stop_sets) {
    for (unsigned letters = 0; letters < 1u << kLength; ++letters) {
      std::string text;
      for (std::size_t i = 0; i < kLength; ++i) text += (letters >> i) & 1 ? 'b' : 'a';
      const StopOutcome expected = Define(stops, text);
      (expected.stopped ? stopped : ran_out) += 1;
      for (unsigned cuts = 0; cuts < 1u << (kLength - 1); ++cuts) {
        ASSERT_EQ(Feed(stops, Cut(text, cuts)), expected) << text << " cut as " << cuts;
      }
    }
  }
  EXPECT_GT(stopped, 100);
  EXPECT_GT(ran_out, 100);
}

TEST(StopMatcher, ShowsAllThatCannotBeginAStop) {
  StopMatcher matcher({"</s>", "User:"});
  EXPECT_EQ(matcher.Push("one <"), "one ");
  EXPECT_EQ(matcher.Push("/p> U"), "</p> ");
  EXPECT_EQ(matcher.Push("se"), "");
  EXPECT_EQ(matcher.Push("d"), "Used");
  EXPECT_FALSE(matcher.stopped());
}

TEST(StopMatcher, KeepsNothingBackWithoutStops) {
  StopMatcher matcher({});
  EXPECT_EQ(matcher.Push("abc"), "abc");
  EXPECT_EQ(matcher.Finish(), "");
}

TEST(StopMatcher, GivesBackWhatItHeldOnlyOnce) {
  StopMatcher matcher({"stop"});
  EXPECT_EQ(matcher.Push("a sto"), "a ");
  EXPECT_EQ(matcher.Finish(), "sto");
  EXPECT_EQ(matcher.Finish(), "");
}

TEST(StopMatcher, IsSilentAfterTheStop) {
  StopMatcher matcher({"."});
  EXPECT_EQ(matcher.Push("It rained. And"), "It rained");
  EXPECT_TRUE(matcher.stopped());
  EXPECT_EQ(matcher.Push(" more"), "");
  EXPECT_EQ(matcher.Finish(), "");
}

TEST(StopMatcher, MatchesCharactersOfManyBytes) {
  const std::string text = "prix: 5\u20ac, \u00e9t\u00e9\u3002fin";
  for (const std::string& stop : {std::string("\u20ac"), std::string("\u00e9t\u00e9"),
                                  std::string("\u3002"), std::string("\u00e9t\u00e9\u3002f")}) {
    std::vector<std::string> bytes;
    for (const char c : text) bytes.emplace_back(1, c);
    EXPECT_EQ(Feed({stop}, bytes), (StopOutcome{text.substr(0, text.find(stop)), true})) << stop;
  }
  // Shares its first two bytes with U+20AC, so it is held back and then shown whole.
  EXPECT_EQ(Feed({"\u20ac"}, {"a\xe2\x82", "\xa3", "b"}), (StopOutcome{"a\u20a3b", false}));
}

TEST(StopMatcher, LongGenerationsStayCheap) {
  // 100,000 pushes that each keep the longest possible prefix held: quadratic work would show.
  const std::string stop(200, 'x');
  StopMatcher matcher({stop + "y"});
  std::size_t shown = 0;
  for (int i = 0; i < 100'000; ++i) shown += matcher.Push("x").size();
  EXPECT_EQ(shown, 100'000 - stop.size());
}

}  // namespace
}  // namespace bittern::runtime
