// SPDX-License-Identifier: Apache-2.0
// Nothing appears under the final name before Commit, whatever ends the writing: destruction, a
// full disk (/dev/full cannot be a target; RLIMIT_FSIZE stands in for it), or no permission.
#include "base/files/atomic_file.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <string>

namespace bittern {
namespace {

class AtomicFileTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) / ("atomic-" + std::to_string(getpid()));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::size_t Entries() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_),
                                                  std::filesystem::directory_iterator()));
  }
  static std::string Read(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::filesystem::path folder_;
};

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

TEST_F(AtomicFileTest, ASignalsHandlerRemovesWhatIsNotComplete) {
  auto done = AtomicFile::Create(folder_ / "done");
  ASSERT_TRUE(done);
  ASSERT_TRUE(done->Commit());
  auto first = AtomicFile::Create(folder_ / "first");
  ASSERT_TRUE(first);
  const AtomicFile moved = *std::move(first);
  auto other = AtomicFile::Create(folder_ / "other");
  ASSERT_TRUE(other);
  ASSERT_EQ(Entries(), 3u);
  RemoveTemporaryFiles();
  EXPECT_EQ(Entries(), 1u);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "done"));
}

TEST_F(AtomicFileTest, ASignalsHandlerRemovesAFolderWithAllInIt) {
  auto folder = AtomicFolder::Create(folder_ / "model");
  ASSERT_TRUE(folder);
  const AtomicFolder moved = *std::move(folder);
  for (const char* name : {"config.json", "tokenizer.json"}) {
    auto file = AtomicFile::Create(moved.temporary() / name);
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->Commit());
  }
  auto half = AtomicFile::Create(moved.temporary() / "model.safetensors");
  ASSERT_TRUE(half);
  RemoveTemporaryFiles();
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

TEST_F(AtomicFileTest, PlacesForNamesAreUsedAgain) {
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(AtomicFile::Create(folder_ / "x"));
  auto last = AtomicFile::Create(folder_ / "last");
  ASSERT_TRUE(last);
  RemoveTemporaryFiles();
  EXPECT_EQ(Entries(), 0u);
}

TEST_F(AtomicFileTest, KeepsTheOldFileUntilCommit) {
  const auto path = folder_ / "out";
  std::ofstream(path) << "old";
  std::filesystem::permissions(path, std::filesystem::perms{0600});
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
  EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms{0600});
}

TEST_F(AtomicFileTest, ReplacesTheTargetOfALink) {
  std::ofstream(folder_ / "real") << "old";
  std::filesystem::create_symlink("real", folder_ / "link");
  auto file = AtomicFile::Create(folder_ / "link");
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->Write("new"));
  ASSERT_TRUE(file->Commit());
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "link"));
  EXPECT_EQ(Read(folder_ / "real"), "new");
}

TEST_F(AtomicFileTest, RefusesWhatIsNoFile) {
  EXPECT_FALSE(AtomicFile::Create(folder_));
  EXPECT_FALSE(AtomicFile::Create("/dev/null"));
  const auto missing = AtomicFile::Create(folder_ / "no" / "out");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kIo);
  EXPECT_NE(missing.error().message.find("No such file"), std::string::npos);
}

/// Runs in a child: writing stops at one MiB, as on a full disk. 0: failed cleanly.
int WriteTooMuch(const std::filesystem::path& path) {
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{1 << 20, 1 << 20};
  if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
  auto file = AtomicFile::Create(path);
  if (!file) return 2;
  const std::string part(1 << 19, 'x');
  for (int i = 0; i < 8; ++i) {
    const auto written = file->Write(part);
    if (written) continue;
    const bool says_why = written.error().message.find("ulimit -f") != std::string::npos;
    return written.error().code == ErrorCode::kIo && says_why ? 0 : 3;
  }
  return 4;
}

TEST_F(AtomicFileTest, AFullDiskLeavesNothing) {
  const auto path = folder_ / "out";
  std::ofstream(path) << "old";
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(WriteTooMuch(path));
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(Entries(), 1u);
  EXPECT_EQ(Read(path), "old");
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
