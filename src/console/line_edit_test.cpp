// SPDX-License-Identifier: Apache-2.0
#include "console/line_edit.hpp"

#include <gtest/gtest.h>

namespace bittern::console {
namespace {

using Event = LineEdit::Event;

TEST(LineEdit, MovesAndErasesByCharacters) {
  LineEdit edit;
  EXPECT_EQ(edit.Feed("a\u00e9\u6f22e\u0301"), Event::kNone);
  EXPECT_EQ(edit.Feed("\x7f"), Event::kNone);  // e with its accent
  EXPECT_EQ(edit.text(), "a\u00e9\u6f22");
  EXPECT_EQ(edit.Feed("\x1b[D\x1b[Dx"), Event::kNone);
  EXPECT_EQ(edit.text(), "ax\u00e9\u6f22");
  EXPECT_EQ(edit.Feed("\x1b[3~\x01<\x05>"), Event::kNone);
  EXPECT_EQ(edit.text(), "<ax\u6f22>");
  EXPECT_EQ(edit.Feed("\x15"), Event::kNone);
  EXPECT_EQ(edit.text(), "");
  EXPECT_EQ(edit.Feed("one two\x17\x1b"
                      "bzero "),
            Event::kNone);
  EXPECT_EQ(edit.text(), "zero one ");
}

TEST(LineEdit, KeysMayComeInParts) {
  LineEdit edit;
  for (const char c : std::string("\u6f22x\x1b[D\u00e9")) {
    EXPECT_EQ(edit.Feed(std::string_view(&c, 1)), Event::kNone);
  }
  EXPECT_EQ(edit.text(), "\u6f22\u00e9x");
}

TEST(LineEdit, EventsAndWhatIsTypedAhead) {
  LineEdit edit;
  EXPECT_EQ(edit.Feed("first\rsecond\r\x03"), Event::kSubmit);
  EXPECT_EQ(edit.Take(), "first");
  EXPECT_EQ(edit.Feed(""), Event::kSubmit);
  EXPECT_EQ(edit.Take(), "second");
  EXPECT_EQ(edit.Feed(""), Event::kInterrupt);
  EXPECT_EQ(edit.Feed("x\x04"), Event::kNone);  // nothing behind the cursor to delete
  EXPECT_EQ(edit.Feed("\x7f\x04"), Event::kEnd);
}

TEST(LineEdit, History) {
  LineEdit edit;
  EXPECT_EQ(edit.Feed("one\r"), Event::kSubmit);
  EXPECT_EQ(edit.Take(), "one");
  EXPECT_EQ(edit.Feed("two\r"), Event::kSubmit);
  EXPECT_EQ(edit.Take(), "two");
  EXPECT_EQ(edit.Feed("dra\x1b[A"), Event::kNone);
  EXPECT_EQ(edit.text(), "two");
  EXPECT_EQ(edit.Feed("\x1b[A\x1b[A"), Event::kNone);
  EXPECT_EQ(edit.text(), "one");
  EXPECT_EQ(edit.Feed("\x1b[B\x1bOB"), Event::kNone);
  EXPECT_EQ(edit.text(), "dra");
}

TEST(LineEdit, HistoryOfEarlierSessions) {
  LineEdit edit;
  edit.SetHistory({"one", "two"});
  EXPECT_EQ(edit.Feed("\x1b[A"), Event::kNone);
  EXPECT_EQ(edit.text(), "two");
  EXPECT_EQ(edit.Feed("\x1b[A!\r"), Event::kSubmit);
  EXPECT_EQ(edit.Take(), "one!");
  EXPECT_EQ(edit.Feed("\x1b[A\x1b[A"), Event::kNone);
  EXPECT_EQ(edit.text(), "two");
}

TEST(LineEdit, APasteIsTextWhateverItHolds) {
  LineEdit edit;
  EXPECT_EQ(edit.Feed("\x1b[200~a\rb\r\nc\x03\x1b[A\td"), Event::kNone);
  EXPECT_EQ(edit.text(), "");
  EXPECT_EQ(edit.Feed("\x1b[20"), Event::kNone);
  EXPECT_EQ(edit.Feed("1~!"), Event::kNone);
  EXPECT_EQ(edit.text(), "a\nb\nc[A\td!");
  EXPECT_EQ(edit.Feed("\r"), Event::kSubmit);
}

TEST(LineEdit, ALineMayBeLong) {
  LineEdit edit;
  EXPECT_EQ(edit.Feed(std::string(100000, 'x') + "\r"), Event::kSubmit);
  EXPECT_EQ(edit.Take().size(), 100000u);
}

TEST(LayOut, RowsAndCursor) {
  Screen screen = LayOut("> ", "abcdef", 6, 5);
  EXPECT_EQ(screen.rows, (std::vector<std::string>{"> abc", "def"}));
  EXPECT_EQ(screen.cursor_row, 1u);
  EXPECT_EQ(screen.cursor_column, 3u);
  screen = LayOut("> ", "abc", 3, 5);  // the cursor stands in a row of its own
  EXPECT_EQ(screen.rows, (std::vector<std::string>{"> abc", ""}));
  EXPECT_EQ(screen.cursor_row, 1u);
  screen = LayOut("> ", "ab\u6f22", 0, 5);  // a wide character is not split
  EXPECT_EQ(screen.rows, (std::vector<std::string>{"> ab", "\u6f22"}));
  screen = LayOut("> ", "a\nb", 2, 9);
  EXPECT_EQ(screen.rows, (std::vector<std::string>{"> a", "b"}));
  EXPECT_EQ(screen.cursor_row, 1u);
  EXPECT_EQ(screen.cursor_column, 0u);
}

TEST(WordWrap, BreaksBetweenWords) {
  WordWrap wrap;
  std::string out;
  for (const char* part : {"A te", "rn is a", " bird", " of the", " sea.\nYes", " indeed"}) {
    out += wrap.Add(part, 10);
  }
  out += wrap.Finish(10);
  EXPECT_EQ(out, "A tern is\na bird of\nthe sea.\nYes indeed");
}

TEST(WordWrap, LongWordsAndWideOnes) {
  WordWrap wrap;
  EXPECT_EQ(wrap.Add("aaaaaaaaaaaa b ", 10), "aaaaaaaaaaaa b");
  WordWrap wide;
  EXPECT_EQ(wide.Add("abc \u6f22\u6f22 ", 6), "abc\n\u6f22\u6f22");
}

}  // namespace
}  // namespace bittern::console
