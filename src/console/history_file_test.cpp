// SPDX-License-Identifier: Apache-2.0
#include "console/history_file.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/files/folder_for_test.hpp"

namespace bittern::console {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class HistoryFileTest : public FolderTest {
 protected:
  HistoryFile Open() const { return HistoryFile::Open(Path()).value(); }
  std::filesystem::path Path() const { return folder_ / "state" / "chat_history"; }
};

TEST_F(HistoryFileTest, LinesComeBack) {
  HistoryFile first = Open();
  EXPECT_TRUE(first.lines().empty());
  EXPECT_EQ(Entries(), 0u);  // nothing is made before the first line
  for (const char* line :
       {"What is a tern?", "What is a tern?", " a secret", "", "two\nlines \"\xc3\xb6\""}) {
    ASSERT_TRUE(first.Add(line));
  }
  ASSERT_TRUE(first.Add(std::string(5000, 'x')));
  HistoryFile second = Open();
  EXPECT_THAT(second.lines(), ElementsAre("What is a tern?", "two\nlines \"\xc3\xb6\""));
  ASSERT_TRUE(second.Add("two\nlines \"\xc3\xb6\""));
  ASSERT_TRUE(first.Add("of another program"));
  ASSERT_TRUE(second.Add("the last"));
  EXPECT_THAT(Open().lines(), ElementsAre("What is a tern?", "two\nlines \"\xc3\xb6\"",
                                          "of another program", "the last"));
}

TEST_F(HistoryFileTest, KeepsTheLastThousand) {
  std::filesystem::create_directory(Path().parent_path());
  std::ofstream file(Path(), std::ios::binary);
  for (int i = 0; i < 2001; ++i) file << fmt::format("\"{}\"\n", i);
  file.close();
  EXPECT_EQ(Open().lines().front(), "1001");
  EXPECT_EQ(Open().lines().size(), HistoryFile::kMostLines);
  EXPECT_THAT(Read(Path()), testing::StartsWith("\"1001\"\n"));
}

TEST_F(HistoryFileTest, FilesOfOthersStay) {
  std::filesystem::create_directory(Path().parent_path());
  for (const char* text : {"my notes\n", "{}\n", "\"a\"\n5\n", "\"a\n\"\n", "[[[[\n"}) {
    std::ofstream(Path(), std::ios::binary) << text;
    const auto history = HistoryFile::Open(Path());
    ASSERT_FALSE(history) << text;
    EXPECT_THAT(history.error().message, HasSubstr("chat_history"));
    EXPECT_EQ(Read(Path()), text);
  }
  EXPECT_FALSE(HistoryFile::Open(folder_));
}

}  // namespace
}  // namespace bittern::console
