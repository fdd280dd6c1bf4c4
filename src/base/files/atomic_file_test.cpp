// SPDX-License-Identifier: Apache-2.0
// Nothing appears under the final name before Commit, whatever ends the writing.
// files_posix_test.cpp has a full disk.
#include "base/files/atomic_file.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "base/files/folder_for_test.hpp"

namespace bittern {
namespace {

class AtomicFileTest : public FolderTest {};

TEST_F(AtomicFileTest, AppearsAtCommit) {
  const auto path = folder_ / "out";
  auto file = AtomicFile::Create(path);
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_TRUE(file->Write("abc"));
  ASSERT_TRUE(file->WriteZeros(5000));
  ASSERT_TRUE(file->Write("d"));
  EXPECT_EQ(file->position(), 5004u);
  EXPECT_FALSE(std::filesystem::exists(path));
  ASSERT_TRUE(file->Commit());
  EXPECT_EQ(Read(path), "abc" + std::string(5000, '\0') + "d");
  EXPECT_EQ(Entries(), 1u);
}

TEST_F(AtomicFileTest, MoreThanTheBuffer) {
  const auto path = folder_ / "out";
  std::string expected;
  {
    auto file = AtomicFile::Create(path);
    ASSERT_TRUE(file);
    for (int i = 0; i < 300; ++i) {
      const std::string part(9999, static_cast<char>('a' + i % 26));
      ASSERT_TRUE(file->Write(part));
      expected += part;
    }
    ASSERT_TRUE(file->Commit());
  }
  EXPECT_EQ(Read(path), expected);
}

TEST_F(AtomicFileTest, LeavesNothingWithoutCommit) {
  {
    auto file = AtomicFile::Create(folder_ / "out");
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->Write(std::string(3 << 20, 'x')));
    EXPECT_EQ(Entries(), 1u);  // the temporary file
  }
  EXPECT_EQ(Entries(), 0u);
}

TEST_F(AtomicFileTest, ASignalsHandlerLeavesAFolderThatIsComplete) {
  for (int i = 0; i < 100; ++i) {  // places for names are used again
    const auto path = folder_ / ("model" + std::to_string(i));
    auto folder = AtomicFolder::Create(path);
    ASSERT_TRUE(folder);
    auto file = AtomicFile::Create(folder->temporary() / "config.json");
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->Commit());
    ASSERT_TRUE(folder->Commit());
    RemoveTemporaryFiles();
    ASSERT_TRUE(std::filesystem::exists(path / "config.json"));
  }
  auto last = AtomicFolder::Create(folder_ / "last");
  ASSERT_TRUE(last);
  RemoveTemporaryFiles();
  EXPECT_EQ(Entries(), 100u);
}

TEST_F(AtomicFileTest, KeepsTheOldFileUntilCommit) {
  const auto path = folder_ / "out";
  std::ofstream(path) << "old";
  {
    auto file = AtomicFile::Create(path);
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->Write("new"));
  }
  EXPECT_EQ(Read(path), "old");
  auto file = AtomicFile::Create(path);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->Write("new"));
  ASSERT_TRUE(file->Commit());
  EXPECT_EQ(Read(path), "new");
}

TEST_F(AtomicFileTest, RefusesWhatIsNoFile) {
  EXPECT_FALSE(AtomicFile::Create(folder_));
  const auto missing = AtomicFile::Create(folder_ / "no" / "out");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kIo);
  EXPECT_NE(missing.error().message.find("No such file"), std::string::npos);
}

TEST_F(AtomicFileTest, FolderAppearsAtCommit) {
  const auto path = folder_ / "model";
  {
    auto folder = AtomicFolder::Create(path);
    ASSERT_TRUE(folder) << folder.error().message;
    std::ofstream(folder->temporary() / "a") << "1";
  }
  EXPECT_EQ(Entries(), 0u);
  auto folder = AtomicFolder::Create(path / "");  // a slash at the end changes nothing
  ASSERT_TRUE(folder);
  std::ofstream(folder->temporary() / "a") << "1";
  EXPECT_FALSE(std::filesystem::exists(path));
  ASSERT_TRUE(folder->Commit());
  EXPECT_EQ(Read(path / "a"), "1");
  EXPECT_EQ(Entries(), 1u);
}

TEST_F(AtomicFileTest, FolderReplacesOnlyAnEmptyOne) {
  std::filesystem::create_directory(folder_ / "empty");
  auto folder = AtomicFolder::Create(folder_ / "empty");
  ASSERT_TRUE(folder);
  ASSERT_TRUE(folder->Commit());
  std::ofstream(folder_ / "empty" / "mine") << "1";
  const auto refused = AtomicFolder::Create(folder_ / "empty");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(Read(folder_ / "empty" / "mine"), "1");
}

}  // namespace
}  // namespace bittern
