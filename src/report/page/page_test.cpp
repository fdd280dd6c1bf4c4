// SPDX-License-Identifier: Apache-2.0
// Texts of strangers in a page: tests/pages_test.py looks at what a browser makes of them.
#include "report/page/page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bittern::report {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string DataOf(const std::string& page) {
  constexpr std::string_view kOpen = "id=\"data\">";
  const std::size_t from = page.find(kOpen) + kOpen.size();
  return page.substr(from, page.find("</script>", from) - from);
}

TEST(Page, HoldsItsDataAndNothingOfItAsMarkup) {
  const Json data = {{"</script><b>", "<!-- @DATA@ @SCRIPT@ \xe2\x80\xa8 \xff \xe2\x80\xae"}};
  for (const PageKind kind : {PageKind::kBench, PageKind::kDoctor, PageKind::kTrace}) {
    const std::string page = HtmlPage(kind, data);
    const std::string text = DataOf(page);
    EXPECT_THAT(text, HasSubstr("\\u003c/script>"));
    EXPECT_THAT(text, HasSubstr("\\u003c!--"));
    EXPECT_THAT(text, HasSubstr("\\u2028"));
    for (const char c : text) EXPECT_TRUE(c >= ' ' && c < 0x7f && c != '<') << text;
    const auto read = Json::Parse(text, {});
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, Json::Parse(data.Dump(), {}).value());
    EXPECT_THAT(page, HasSubstr("prefers-color-scheme: dark"));
    EXPECT_THAT(page, HasSubstr("<title>bittern "));  // IsEarlierOutput looks for it
    EXPECT_TRUE(page.ends_with("</html>\n"));
    for (const char* elsewhere : {"src=", "@import", "url(", "<link rel=\"style"}) {
      EXPECT_THAT(page, Not(HasSubstr(elsewhere)));
    }
  }
}

TEST(Page, HasTheScriptOfItsKind) {
  EXPECT_THAT(HtmlPage(PageKind::kBench, {}), HasSubstr("showRoofline();"));
  EXPECT_THAT(HtmlPage(PageKind::kDoctor, {}), HasSubstr("showScales();"));
  EXPECT_THAT(HtmlPage(PageKind::kTrace, {}), HasSubstr("drawLens(p);"));
}

}  // namespace
}  // namespace bittern::report
