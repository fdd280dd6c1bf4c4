// SPDX-License-Identifier: Apache-2.0
// Rights and devices that Windows does not have.
#include <gtest/gtest.h>

#include "base/files/folder_for_test.hpp"
#include "console/history_file.hpp"

namespace bittern::console {
namespace {

class HistoryFileRights : public FolderTest {};

TEST_F(HistoryFileRights, OthersSeeNoLines) {
  const auto path = folder_ / "state" / "chat_history";
  HistoryFile history = HistoryFile::Open(path).value();
  ASSERT_TRUE(history.Add("What is a tern?"));
  const auto others = std::filesystem::perms::group_all | std::filesystem::perms::others_all;
  EXPECT_EQ(status(path.parent_path()).permissions() & others, std::filesystem::perms::none);
}

TEST(HistoryFileOfDevices, IsNone) {
  EXPECT_FALSE(HistoryFile::Open("/dev/null"));
  EXPECT_FALSE(HistoryFile::Open("/dev/null/x").value().Add("a line"));
}

}  // namespace
}  // namespace bittern::console
