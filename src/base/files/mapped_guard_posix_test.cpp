// SPDX-License-Identifier: Apache-2.0
// Files that change while they are mapped. What ends a process is tried in a child.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <thread>
#include <vector>

#include "base/files/mapped_file.hpp"
#include "base/files/mapped_guard.hpp"

#if defined(__SANITIZE_THREAD__)
/// The sanitizer takes a mapping that is laid over pages for a write of them. Readers of such pages
/// see a whole page, old or new.
extern "C" [[gnu::visibility("default")]] const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() { return "race:bittern::os::ReplaceByZeros"; }
#endif

namespace bittern {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

constexpr std::size_t kBytes = 1 << 20;

class MappedGuard : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(folder_);
    Write(path_, 'x');
    file_.emplace(MappedFile::Open(path_).value());
  }
  void TearDown() override { fs::remove_all(folder_); }

  static void Write(const fs::path& path, char letter) {
    std::ofstream(path, std::ios::binary) << std::string(kBytes, letter);
  }
  [[nodiscard]] char At(std::size_t i) const { return static_cast<char>(file_->bytes()[i]); }
  [[nodiscard]] std::string Problem() const {
    const auto unchanged = file_->CheckUnchanged();
    return unchanged ? "" : unchanged.error().message;
  }

  const fs::path folder_ =
      fs::temp_directory_path() / ("bittern_guard_" + std::to_string(getpid()));
  const fs::path path_ = folder_ / "m.gguf";
  std::optional<MappedFile> file_;
};

/// How a child ends that runs `work`: its exit status, or 1000 and the signal.
int InChild(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGBUS, SIG_DFL);
    _exit(work());
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

TEST_F(MappedGuard, WhatWasCutOffReadsAsZerosAndIsAnError) {
  ASSERT_TRUE(GuardMappedReads());
  ASSERT_TRUE(GuardMappedReads());  // twice changes nothing
  EXPECT_EQ(Problem(), "");
  fs::resize_file(path_, kBytes / 2);
  EXPECT_EQ(At(kBytes / 2 - 1), 'x');
  EXPECT_EQ(At(kBytes - 1), '\0');
  EXPECT_EQ(At(kBytes / 2), '\0');
  EXPECT_THAT(Problem(), AllOf(HasSubstr(path_.string()), HasSubstr("1048576 bytes"),
                               HasSubstr("524288 now")));
}

TEST_F(MappedGuard, ADamagedFileStaysSo) {
  ASSERT_TRUE(GuardMappedReads());
  const auto when = fs::last_write_time(path_);
  fs::resize_file(path_, 0);
  EXPECT_EQ(At(0), '\0');
  Write(path_, 'y');
  fs::last_write_time(path_, when);
  EXPECT_THAT(Problem(), HasSubstr("a part of it could not be read"));
}

TEST_F(MappedGuard, WhatWasWrittenToIsAnError) {
  std::fstream(path_, std::ios::in | std::ios::out) << "z";
  EXPECT_THAT(Problem(), AllOf(HasSubstr(path_.string()), HasSubstr("written to")));
}

TEST_F(MappedGuard, WhatWasDeletedOrReplacedIsStillThere) {
  Write(folder_ / "other", 'y');
  fs::rename(folder_ / "other", path_);
  EXPECT_EQ(Problem(), "");
  EXPECT_EQ(At(kBytes - 1), 'x');
  fs::remove(path_);
  EXPECT_EQ(Problem(), "");
}

TEST_F(MappedGuard, AnyNumberOfThreadsAndFiles) {
  ASSERT_TRUE(GuardMappedReads());
  std::vector<MappedFile> files;
  for (int i = 0; i < 200; ++i) files.push_back(MappedFile::Open(path_).value());
  for (int i = 0; i < 200; i += 2)
    files[static_cast<std::size_t>(i)] = MappedFile::Open(path_).value();
  Write(folder_ / "kept", 'k');
  const auto kept = MappedFile::Open(folder_ / "kept").value();
  fs::resize_file(path_, 0);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&files, t] {
      for (const MappedFile& file : files) {
        for (std::size_t i = t; i < kBytes; i += 65521) EXPECT_EQ(file.bytes()[i], std::byte{0});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(kept.CheckUnchanged());
  EXPECT_EQ(kept.bytes()[kBytes - 1], std::byte{'k'});
}

/// Reads behind the end of a file that is mapped by other means.
int ReadForeign(const fs::path& path) {
  const int fd = open(path.c_str(), O_RDWR);
  void* data = mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, fd, 0);
  if (data == MAP_FAILED || ftruncate(fd, 0) != 0) return 1;
  return *static_cast<volatile char*>(data);
}

TEST_F(MappedGuard, OtherBusErrorsGoToTheHandlerBefore) {
  Write(folder_ / "a", 'x');
  EXPECT_EQ(InChild([&] {
              signal(SIGBUS, [](int) { _exit(42); });
              return GuardMappedReads() ? ReadForeign(folder_ / "a") : 2;
            }),
            42);
  Write(folder_ / "b", 'x');
  EXPECT_EQ(InChild([&] {
              struct sigaction action = {};
              action.sa_flags = SA_SIGINFO;
              action.sa_sigaction = [](int, siginfo_t* info, void*) {
                _exit(info->si_addr != nullptr ? 43 : 44);
              };
              sigaction(SIGBUS, &action, nullptr);
              return GuardMappedReads() ? ReadForeign(folder_ / "b") : 2;
            }),
            43);
  Write(folder_ / "c", 'x');
  EXPECT_EQ(InChild([&] { return GuardMappedReads() ? ReadForeign(folder_ / "c") : 2; }),
            1000 + SIGBUS);
  EXPECT_EQ(InChild([] { return GuardMappedReads() ? raise(SIGBUS) : 2; }), 1000 + SIGBUS);
}

}  // namespace
}  // namespace bittern
