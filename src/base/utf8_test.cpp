// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.hpp"

#include <gtest/gtest.h>

namespace bittern {
namespace {

TEST(Utf8, EveryScalarValueSurvivesTheRoundTrip) {
  for (char32_t c = 0; c <= 0x10ffff; ++c) {
    if (c >= 0xd800 && c <= 0xdfff) continue;
    std::string text;
    AppendUtf8(c, &text);
    const Utf8Step step = DecodeUtf8(text);
    ASSERT_TRUE(step.valid) << static_cast<unsigned>(c);
    ASSERT_EQ(step.code_point, c);
    ASSERT_EQ(step.size, text.size());
    for (std::size_t cut = 1; cut < text.size(); ++cut) {
      ASSERT_TRUE(IsIncompleteUtf8(text.substr(0, cut)));
      ASSERT_FALSE(DecodeUtf8(text.substr(0, cut)).valid);
    }
    ASSERT_FALSE(IsIncompleteUtf8(text));
  }
}

TEST(Utf8, BadBytesBecomeOneReplacementPerMaximalSubpart) {
  const std::string r = "\xef\xbf\xbd";
  EXPECT_EQ(ReplaceInvalidUtf8("a\x80z"), "a" + r + "z");
  EXPECT_EQ(ReplaceInvalidUtf8("\xc0\xaf"), r + r);                  // overlong
  EXPECT_EQ(ReplaceInvalidUtf8("\xed\xa0\x80"), r + r + r);          // surrogate
  EXPECT_EQ(ReplaceInvalidUtf8("\xf4\x90\x80\x80"), r + r + r + r);  // above U+10FFFF
  EXPECT_EQ(ReplaceInvalidUtf8("\xe2\x82"
                               "x"),
            r + "x");  // cut short: one subpart
  // The example of Unicode 15, table 3-8.
  EXPECT_EQ(ReplaceInvalidUtf8("a\xf1\x80\x80\xe1\x80\xc2"
                               "b\x80"
                               "c\x80\xbf"
                               "d"),
            "a" + r + r + r + "b" + r + "c" + r + r + "d");
  EXPECT_FALSE(IsIncompleteUtf8("\xc0"));
  EXPECT_FALSE(IsIncompleteUtf8(""));
}

}  // namespace
}  // namespace bittern
