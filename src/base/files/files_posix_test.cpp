// SPDX-License-Identifier: Apache-2.0
// Links, pipes, permissions and limits of files, which only POSIX has. /dev/full cannot be a target
// of an atomic file; RLIMIT_FSIZE stands in for a full disk.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <string>

#include "base/files/atomic_file.hpp"
#include "base/files/folder_for_test.hpp"
#include "base/files/mapped_file.hpp"
#include "base/files/partial_file.hpp"

namespace bittern {
namespace {

class FilesOfPosix : public FolderTest {};

/// Elsewhere an open file keeps its name until it is closed, which the end of the process does.
TEST_F(FilesOfPosix, ASignalsHandlerRemovesWhatIsNotComplete) {
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

TEST_F(FilesOfPosix, ASignalsHandlerRemovesAFolderWithAllInIt) {
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

TEST_F(FilesOfPosix, PlacesForNamesAreUsedAgain) {
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(AtomicFile::Create(folder_ / "x"));
  auto last = AtomicFile::Create(folder_ / "last");
  ASSERT_TRUE(last);
  RemoveTemporaryFiles();
  EXPECT_EQ(Entries(), 0u);
}

TEST_F(FilesOfPosix, AnAtomicFileKeepsPermissions) {
  const auto path = folder_ / "out";
  std::ofstream(path) << "old";
  std::filesystem::permissions(path, std::filesystem::perms{0600});
  auto file = AtomicFile::Create(path);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->Commit());
  EXPECT_EQ(Read(path), "");
  EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms{0600});
}

TEST_F(FilesOfPosix, AnAtomicFileReplacesTheTargetOfALink) {
  std::ofstream(folder_ / "real") << "old";
  std::filesystem::create_symlink("real", folder_ / "link");
  auto file = AtomicFile::Create(folder_ / "link");
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->Write("new"));
  ASSERT_TRUE(file->Commit());
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "link"));
  EXPECT_EQ(Read(folder_ / "real"), "new");
}

TEST_F(FilesOfPosix, AnAtomicFileReplacesNoDevice) {
  EXPECT_FALSE(AtomicFile::Create("/dev/null"));
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

TEST_F(FilesOfPosix, AFullDiskLeavesNothing) {
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

TEST_F(FilesOfPosix, APartialFileRefusesALink) {
  std::ofstream(folder_ / "target") << "untouched";
  std::filesystem::create_symlink("target", folder_ / "link");
  EXPECT_FALSE(PartialFile::Open(folder_ / "link"));
  EXPECT_EQ(Read(folder_ / "target"), "untouched");
}

TEST_F(FilesOfPosix, APipeIsNotMapped) {
  const auto pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_FALSE(MappedFile::Open(pipe).has_value());  // and does not wait for a writer
}

}  // namespace
}  // namespace bittern
