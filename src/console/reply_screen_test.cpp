// SPDX-License-Identifier: Apache-2.0
#include "console/reply_screen.hpp"

#include <gtest/gtest.h>

namespace bittern::console {
namespace {

struct Folded {
  std::string shown, thoughts;
};

/// In pieces of `size` bytes.
Folded Fold(std::string_view text, std::size_t size, bool begun = false) {
  runtime::ThoughtFold fold(begun);
  Folded result;
  for (std::size_t i = 0; i < text.size(); i += size)
    result.shown += fold.Add(text.substr(i, size));
  result.shown += fold.Finish();
  result.thoughts = fold.thoughts();
  return result;
}

TEST(ThoughtFold, TakesThoughtsOut) {
  for (std::size_t size : {1, 2, 3, 5, 100}) {
    auto folded = Fold("\n<think>a < b</thin k></think>\n\nYes.\n\nNo.", size);
    EXPECT_EQ(folded.shown, "Yes.\n\nNo.") << size;
    EXPECT_EQ(folded.thoughts, "a < b</thin k>");
    folded = Fold("hm</think>x", size, /*begun=*/true);
    EXPECT_EQ(folded.shown, "x");
    EXPECT_EQ(folded.thoughts, "hm");
    folded = Fold("<think>cut </thi", size);
    EXPECT_EQ(folded.shown, "");
    EXPECT_EQ(folded.thoughts, "cut </thi");
  }
}

TEST(ThoughtFold, LeavesOtherTextsAlone) {
  for (const char* text : {"Say <think> and </think>.", " \n<thin", "<", "", "\n\nx", "<b>"}) {
    for (std::size_t size : {1, 4, 100}) EXPECT_EQ(Fold(text, size).shown, text);
  }
}

TEST(ReplyScreen, MakesControlCharactersHarmless) {
  EXPECT_EQ(WithoutControls("a\x1b[31mb\tc\n\r\x07"),
            "a\xef\xbf\xbd[31mb\tc\n\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(WithoutControls("\xc2\x9bK \xc3\xa9"), "\xef\xbf\xbdK \xc3\xa9");
}

TEST(ReplyScreen, StylesTakeNoColumns) {
  ReplyScreen screen(/*markdown=*/true, /*folds=*/true, /*begun=*/false);
  std::string out = screen.Add("<think>x</think>aaaa **bbbb** cccc\n", 14);
  out += screen.Finish(14);
  EXPECT_EQ(out, "aaaa \x1b[1m**bbbb**\x1b[0m\ncccc\n");
}

TEST(ReplyScreen, ShowsThoughtsWhereAskedTo) {
  ReplyScreen screen(/*markdown=*/false, /*folds=*/false, /*begun=*/false);
  std::string out = screen.Add("<think>x</think> a", 80);
  out += screen.Finish(80);
  EXPECT_EQ(out, "<think>x</think> a");
  EXPECT_EQ(screen.fold().thoughts(), "x");
}

}  // namespace
}  // namespace bittern::console
