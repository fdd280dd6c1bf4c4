// SPDX-License-Identifier: Apache-2.0
// Hostile names in messages.
#include "base/text/display.hpp"

#include <gtest/gtest.h>

namespace bittern {
namespace {

TEST(Printable, LeavesTextAlone) {
  EXPECT_EQ(Printable("blk.0.attn_q \"Ġthe\" 漢"), "blk.0.attn_q \"Ġthe\" 漢");
}

TEST(Printable, ShowsWhatATerminalWouldObey) {
  EXPECT_EQ(Printable("a\n\t\r"), "a\\n\\t\\r");
  EXPECT_EQ(Printable("\x1b[31m"), "\\u{1b}[31m");
  EXPECT_EQ(Printable("\x7f"), "\\u{7f}");
  EXPECT_EQ(Printable("\xc2\x9b"
                      "2J"),
            "\\u{9b}2J");  // C1: CSI
  EXPECT_EQ(Printable("\xe2\x80\xae"
                      "fdp"),
            "\\u{202e}fdp");  // right-to-left override
  EXPECT_EQ(Printable(std::string_view("a\0b", 3)), "a\\u{0}b");
}

TEST(Printable, ReplacesBadUtf8) {
  EXPECT_EQ(Printable("a\xff"
                      "b"),
            "a\xef\xbf\xbd"
            "b");
}

TEST(Printable, CutsAtCharacters) {
  EXPECT_EQ(Printable("abcdef", 6), "abcdef");
  EXPECT_EQ(Printable("abcdef", 5), "abcde...");
  EXPECT_EQ(Printable("ab漢", 4), "ab...");
}

TEST(Quoted, EscapesItsOwnMarks) { EXPECT_EQ(Quoted("a\"b\\"), "\"a\\\"b\\\\\""); }

}  // namespace
}  // namespace bittern
