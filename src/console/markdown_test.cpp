// SPDX-License-Identifier: Apache-2.0
#include "console/markdown.hpp"

#include <gtest/gtest.h>

#include <random>

namespace bittern::console {
namespace {

/// Styles as one letter each: B bold, C code, D dim, / the end of them.
std::string Shown(const std::string& styled) {
  std::string out;
  for (std::size_t i = 0; i < styled.size(); ++i) {
    if (styled[i] != '\x1b') {
      out += styled[i];
      continue;
    }
    const std::size_t end = styled.find('m', i);
    const std::string code = styled.substr(i + 2, end - i - 2);
    out += code == "1" ? 'B' : code == "36" ? 'C' : code == "2" ? 'D' : '/';
    i = end;
  }
  return out;
}

std::string Styled(const std::string& text) {
  MarkdownStyle style;
  const std::string all = style.Add(text);
  return all + style.Finish();
}

TEST(Markdown, StylesWhatIsMarked) {
  EXPECT_EQ(Shown(Styled("a **b c** d")), "a B**b c**/ d");
  EXPECT_EQ(Shown(Styled("x `y*z` w")), "x C`y*z`/ w");
  EXPECT_EQ(Shown(Styled("``a ` b`` c")), "C``a ` b``/ c");
  EXPECT_EQ(Shown(Styled("## head `x`\nrest")), "B## head `x`/\nrest");
  EXPECT_EQ(Shown(Styled("```py\na **b**\n# c\n```\nd")), "D```py/\nCa **b**\n# c\n/D```/\nd");
}

TEST(Markdown, LeavesTheRestAlone) {
  for (const char* text :
       {"2 ** 3", "a * b", "#hash", "####### seven", "*one*", "    # indented"}) {
    EXPECT_EQ(Styled(text), text);
  }
  // A mark that is not closed ends with its line.
  EXPECT_EQ(Shown(Styled("a **b\nc `d\ne")), "a B**b/\nc C`d/\ne");
}

// However it is cut into pieces; and without styles it is the text.
TEST(Markdown, PiecesAndNothingLost) {
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    const std::size_t size = random() % 60;
    while (text.size() < size) text += "` *#\nab```**"[random() % 12];
    const std::string whole = Styled(text);
    std::string bare;
    for (std::size_t at = 0; at < whole.size(); ++at) {
      if (whole[at] == '\x1b') {
        at = whole.find('m', at);
      } else {
        bare += whole[at];
      }
    }
    EXPECT_EQ(bare, text);
    MarkdownStyle style;
    std::string pieces;
    for (const char c : text) pieces += style.Add(std::string(1, c));
    EXPECT_EQ(pieces + style.Finish(), whole);
    EXPECT_EQ(whole.rfind("\x1b[0m") == std::string::npos, whole.find('\x1b') == std::string::npos);
  }
}

}  // namespace
}  // namespace bittern::console
