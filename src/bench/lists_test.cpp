// SPDX-License-Identifier: Apache-2.0
#include "bench/lists.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bittern::bench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::int32_t> List(std::string_view text) {
  return ParseNumberList(text, "-p").value_or(std::vector<std::int32_t>{-1});
}

TEST(BenchLists, NumbersAndRanges) {
  EXPECT_THAT(List("0"), ElementsAre(0));
  EXPECT_THAT(List("128, 512"), ElementsAre(128, 512));
  EXPECT_THAT(List("1-4"), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(List("8-16+8"), ElementsAre(8, 16));
  EXPECT_THAT(List("8-20+8"), ElementsAre(8, 16));
  EXPECT_THAT(List("8-64*2,5"), ElementsAre(8, 16, 32, 64, 5));
  EXPECT_THAT(List("2147483647-2147483647"), ElementsAre(2147483647));
}

TEST(BenchLists, WhatIsNoList) {
  for (const char* text : {"", "abc", "1,", "4-1", "1-", "1-4+0", "1-4*1", "0-4*2", "1-4x2", "-1",
                           "1.5", "1-4+2z", "99999999999"}) {
    const auto list = ParseNumberList(text, "-p");
    ASSERT_FALSE(list.has_value()) << text;
    EXPECT_THAT(list.error().message, HasSubstr("-p: ")) << text;
  }
  EXPECT_FALSE(ParseNumberList("0-2147483647", "-p").has_value());
}

TEST(BenchLists, PromptAndGen) {
  EXPECT_EQ(ParsePromptAndGen("8,4", "-pg"), (std::pair<int, int>{8, 4}));
  for (const char* text : {"", "8", "8,", ",4", "8,0", "0,4", "8,4,2", "8-9,4", "a,b"}) {
    EXPECT_FALSE(ParsePromptAndGen(text, "-pg").has_value()) << text;
  }
}

}  // namespace
}  // namespace bittern::bench
