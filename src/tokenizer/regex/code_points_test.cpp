// SPDX-License-Identifier: Apache-2.0
// Sets of code points against utf8proc and PCRE2, on every code point.
#include "tokenizer/regex/code_points.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <utf8proc.h>

#include <string>

#include "tokenizer/regex/pcre2_oracle.hpp"
#include "tokenizer/texts_for_test.hpp"

namespace bittern::tokenizer {
namespace {

using ::testing::ElementsAre;
using Range = CodePointSet::Range;

std::vector<char32_t> Differences(const CodePointSet& set, const std::string& pattern) {
  const Pcre2Pattern oracle(pattern);
  std::vector<char32_t> different;
  for (char32_t c = 0; c <= CodePointSet::kMax; ++c) {
    if (!IsComparable()(c)) continue;
    std::string text;
    AppendUtf8(c, &text);
    if (set.Contains(c) != (oracle.Match(text) != 0)) different.push_back(c);
  }
  return different;
}

TEST(CodePointSet, EveryCategoryIsUtf8procs) {
  for (char32_t c = 0; c <= CodePointSet::kMax; ++c) {
    static const char* const kNames[] = {"L", "M", "N", "P", "S", "Z", "C"};
    static const std::vector<CodePointSet> sets = [] {
      std::vector<CodePointSet> all;
      for (const char* name : kNames) all.push_back(CodePointSet::Property(name).value());
      return all;
    }();
    const std::string name = utf8proc_category_string(static_cast<utf8proc_int32_t>(c));
    for (std::size_t i = 0; i < sets.size(); ++i) {
      ASSERT_EQ(sets[i].Contains(c), name[0] == kNames[i][0]) << static_cast<unsigned>(c);
    }
  }
}

TEST(CodePointSet, PropertiesArePcre2s) {
  for (const char* name : {"Lu", "Ll", "Lt", "Lm", "Lo", "M", "Nd", "Nl", "Pc", "P", "S"}) {
    const std::string pattern = std::string("\\p{") + name + "}";
    EXPECT_THAT(Differences(CodePointSet::Property(name).value(), pattern), ElementsAre()) << name;
  }
  EXPECT_THAT(Differences(CodePointSet::Property("Han").value(), "\\p{sc:Han}"), ElementsAre());
  EXPECT_FALSE(CodePointSet::Property("Greek").has_value());
  EXPECT_FALSE(CodePointSet::Property("").has_value());
}

/// White_Space, not category Z, nor PCRE2's \s.
TEST(CodePointSet, SpaceDiffersFromPcre2sInOneCodePoint) {
  EXPECT_THAT(Differences(CodePointSet::WhiteSpace(), "\\s"), ElementsAre(U'\u180e'));
  EXPECT_TRUE(CodePointSet::WhiteSpace().Contains(U'\u0085'));
  EXPECT_FALSE(CodePointSet::WhiteSpace().Contains(U'\u200b'));
}

TEST(CodePointSet, Operations) {
  const CodePointSet a({{'d', 'f'}, {'a', 'c'}, {'x', 'z'}});
  EXPECT_THAT(a.ranges(), ElementsAre(Range{'a', 'f'}, Range{'x', 'z'}));
  EXPECT_THAT(a.Complement().ranges(),
              ElementsAre(Range{0, '`'}, Range{'g', 'w'}, Range{'{', 0x10ffff}));
  EXPECT_EQ(a.Complement().Complement(), a);
  EXPECT_THAT(a.Intersection(CodePointSet({{'e', 'x'}})).ranges(),
              ElementsAre(Range{'e', 'f'}, Range{'x', 'x'}));
  EXPECT_THAT(CodePointSet({{'s', 's'}, {'1', '1'}}).WithAsciiCases().ranges(),
              ElementsAre(Range{'1', '1'}, Range{'S', 'S'}, Range{'s', 's'}));
  EXPECT_TRUE(CodePointSet().ranges().empty());
  EXPECT_TRUE(CodePointSet().Complement().Complement().ranges().empty());
}

}  // namespace
}  // namespace bittern::tokenizer
