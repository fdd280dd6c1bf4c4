// SPDX-License-Identifier: Apache-2.0
#include "cli/options/foreign_flags.hpp"

#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>

namespace bittern::cli {
namespace {

TEST(ForeignFlags, RowsOfACommandGoFirst) {
  const ForeignFlag* in_run = FindForeignFlag("-cnv", "run", true);
  const ForeignFlag* in_chat = FindForeignFlag("-cnv", "chat", true);
  ASSERT_NE(in_run, nullptr);
  ASSERT_NE(in_chat, nullptr);
  EXPECT_EQ(in_run->kind, ForeignKind::kRefused);
  EXPECT_EQ(in_chat->kind, ForeignKind::kIgnored);
}

TEST(ForeignFlags, NamesAreMatchedWhole) {
  EXPECT_EQ(FindForeignFlag("-f", "run", true), nullptr);
  EXPECT_EQ(FindForeignFlag("--thread", "run", true), nullptr);
  EXPECT_EQ(FindForeignFlag("", "run", true), nullptr);
  EXPECT_NE(FindForeignFlag("-fa", "run", true), nullptr);
}

TEST(ForeignFlags, CommandsWithoutAModelHaveTheirOwnRowsOnly) {
  EXPECT_EQ(FindForeignFlag("--mlock", "meta", false), nullptr);
  EXPECT_NE(FindForeignFlag("--outtype", "convert", false), nullptr);
}

TEST(ForeignFlags, ValuesThatChangeNothing) {
  const ForeignFlag* row = FindForeignFlag("--rope-freq-base", "run", true);
  ASSERT_NE(row, nullptr);
  EXPECT_TRUE(row->IsHarmless("0"));
  EXPECT_FALSE(row->IsHarmless("10000"));
  EXPECT_FALSE(row->IsHarmless(""));
}

// A second row of the same name and commands would never be found; a refusal must say what to do.
TEST(ForeignFlags, EachRowIsReachedAndSaysWhatToDo) {
  std::set<std::string> seen;
  for (const ForeignFlag& row : ForeignFlags()) {
    EXPECT_TRUE(row.kind == ForeignKind::kIgnored || !row.sentence.empty()) << row.names;
    std::istringstream names{std::string(row.names)};
    for (std::string name; names >> name;) {
      EXPECT_TRUE(name.starts_with('-')) << name;
      EXPECT_TRUE(seen.insert(name + " " + std::string(row.commands)).second) << name;
    }
  }
}

}  // namespace
}  // namespace bittern::cli
