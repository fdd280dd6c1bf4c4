// SPDX-License-Identifier: Apache-2.0
// Unfinished files are taken up where they end; a lock has one owner.
#include "base/files/partial_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>

namespace bittern {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

fs::path TempFolder() {
  const fs::path folder =
      fs::temp_directory_path() / ("bittern_partial" + std::to_string(getpid()));
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder;
}

std::span<const std::byte> Bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string ReadAll(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(PartialFile, GoesOnWhereItEnds) {
  const fs::path folder = TempFolder(), path = folder / "a.incomplete", whole = folder / "a";
  {
    auto file = PartialFile::Open(path).value();
    EXPECT_EQ(file.size(), 0U);
    ASSERT_TRUE(file.Append(Bytes("first ")));
  }
  auto file = PartialFile::Open(path).value();
  ASSERT_EQ(file.size(), 6U);
  std::string begin(5, '?');
  ASSERT_TRUE(file.Read(0, std::as_writable_bytes(std::span(begin.data(), begin.size()))));
  EXPECT_EQ(begin, "first");
  EXPECT_FALSE(file.Read(2, std::as_writable_bytes(std::span(begin.data(), begin.size()))));
  ASSERT_TRUE(file.Append(Bytes("second")));
  ASSERT_TRUE(file.FinishAs(whole));
  EXPECT_FALSE(fs::exists(path));
  EXPECT_EQ(ReadAll(whole), "first second");
  fs::remove_all(folder);
}

TEST(PartialFile, ClearDropsAll) {
  const fs::path folder = TempFolder();
  {
    auto file = PartialFile::Open(folder / "a").value();
    ASSERT_TRUE(file.Append(Bytes("wrong")));
    ASSERT_TRUE(file.Clear());
    EXPECT_EQ(file.size(), 0U);
    ASSERT_TRUE(file.Append(Bytes("right")));
  }
  EXPECT_EQ(ReadAll(folder / "a"), "right");
  fs::remove_all(folder);
}

TEST(PartialFile, FoldersAreRefused) {
  const fs::path folder = TempFolder();
  fs::create_directory(folder / "folder");
  EXPECT_THAT(PartialFile::Open(folder / "folder").error().message, HasSubstr("cannot write"));
  fs::remove_all(folder);
}

TEST(FileLock, HasOneOwner) {
  const fs::path folder = TempFolder(), path = folder / "a.lock";
  {
    const auto first = FileLock::Try(path).value();
    ASSERT_TRUE(first.has_value());
    EXPECT_FALSE(FileLock::Try(path).value().has_value());
  }
  EXPECT_TRUE(FileLock::Try(path).value().has_value());
  EXPECT_FALSE(FileLock::Try(folder / "missing" / "a.lock"));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace bittern
