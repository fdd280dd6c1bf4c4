// SPDX-License-Identifier: Apache-2.0
#include "request/batch/shard.hpp"

#include <gtest/gtest.h>

#include "base/files/folder_for_test.hpp"
#include "request/batch/batch_line.hpp"
#include "request/batch/line_source.hpp"

namespace bittern::request {
namespace {

TEST(Shard, EveryLineIsInOneOfThem) {
  for (std::size_t count = 1; count <= 9; ++count) {
    for (std::size_t total = 0; total <= 40; ++total) {
      std::size_t sum = 0;
      for (std::size_t index = 1; index <= count; ++index) {
        const Shard shard{.index = index, .count = count};
        std::size_t lines = 0;
        for (std::size_t number = 1; number <= total; ++number) lines += shard.Has(number) ? 1 : 0;
        EXPECT_EQ(lines, shard.LinesOf(total)) << shard.Name() << " of " << total;
        sum += lines;
      }
      EXPECT_EQ(sum, total);
    }
  }
}

TEST(Shard, ReadsItsName) {
  const auto shard = ParseShard("3/8");
  ASSERT_TRUE(shard);
  EXPECT_EQ(shard->Name(), "3/8");
  EXPECT_TRUE(shard->Has(11));
  EXPECT_FALSE(shard->Has(8));
  EXPECT_TRUE(ParseShard("1000/1000"));
}

TEST(Shard, RefusesOtherTexts) {
  for (const char* text : {"", "/", "3", "3/", "/8", "0/8", "9/8", "-1/8", "+1/8", "1/8 ", " 1/8",
                           "1/8/8", "1/1001", "1/18446744073709551617", "1.5/8", "a/b"}) {
    const auto shard = ParseShard(text);
    ASSERT_FALSE(shard) << text;
    EXPECT_EQ(shard.error().message, "I/N expected, with I from 1 to N and N from 1 to 1000, \"" +
                                         std::string(text) + "\" found");
  }
}

PartHead HeadForTest() {
  return {.shard = {.index = 2, .count = 3},
          .lines = 7,
          .input = "00ff",
          .model = "ff00",
          .settings = {{"temperature", 0.8}, {"stop", Json::MakeArray({"\n"})}}};
}

TEST(PartHead, IsReadAsItWasWritten) {
  const PartHead head = HeadForTest();
  std::string line = WritePartHead(head);
  ASSERT_EQ(line.back(), '\n');
  line.pop_back();
  const auto read = ReadPartHead(line);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->shard.Name(), "2/3");
  EXPECT_EQ(DifferenceOf(head, *read), "");
  for (std::size_t size = 0; size < line.size(); ++size) {
    EXPECT_FALSE(ReadPartHead(line.substr(0, size))) << size;
  }
}

TEST(PartHead, NamesTheDifference) {
  const auto difference = [](auto change) {
    PartHead other = HeadForTest();
    change(&other);
    return DifferenceOf(HeadForTest(), other);
  };
  EXPECT_EQ(difference([](PartHead* head) { head->shard.index = 1; }), "");
  EXPECT_EQ(difference([](PartHead* head) { head->shard.count = 4; }),
            "number of shards: 3 expected, 4 found");
  EXPECT_EQ(difference([](PartHead* head) { head->lines = 8; }),
            "lines of the input: 7 expected, 8 found");
  EXPECT_EQ(difference([](PartHead* head) { head->input = "01"; }),
            "input: 00ff expected, 01 found");
  EXPECT_EQ(difference([](PartHead* head) { head->model = "01"; }),
            "model: ff00 expected, 01 found");
  EXPECT_EQ(difference([](PartHead* head) { head->settings["temperature"] = 1; }),
            "temperature: 0.8 expected, 1 found");
  EXPECT_EQ(difference([](PartHead* head) { head->settings.Erase("stop"); }),
            R"(stop: ["\n"] expected, none found)");
  EXPECT_EQ(difference([](PartHead* head) { head->settings["new"] = true; }),
            "new: none expected, true found");
}

TEST(BatchPartLine, IsTheLineWithoutItsNumber) {
  for (const char* id : {"a", "", "\"line\":3", "\xc3\xa4\n\\", "{}"}) {
    const Json answer = {{"text", "x \"line\":5"}, {"finish_reason", "length"}, {"p", 0.1}};
    std::string line = WriteBatchLine({.id = id, .number = 3}, answer);
    line.pop_back();
    const auto read = ReadBatchPartLine(line);
    ASSERT_TRUE(read) << line;
    EXPECT_EQ(read->name.id, id);
    EXPECT_EQ(read->name.number, 3U);
    EXPECT_EQ(read->result, WriteBatchLine({.id = id}, answer));
  }
  for (const char* other :
       {R"({"id":"a","error":"x"})", R"({"id": "a","line":3,"error":"x"})",
        R"({"line":3,"id":"a","error":"x"})", R"({"id":"a","line":3})",
        R"({"id":"a","line":03,"error":"x"})", R"({"id":"a","line":-3,"error":"x"})",
        R"({"id":"a","line":3,"error":"x")", ""}) {
    EXPECT_FALSE(ReadBatchPartLine(other)) << other;
  }
}

using LineSourceTest = FolderTest;

TEST_F(LineSourceTest, HashLeavesBlankLinesOut) {
  const auto hash = [&](const char* text) {
    const auto path = folder_ / "lines";
    std::ofstream(path, std::ios::binary) << text;
    return LineSource::Open(path.string())->hash();
  };
  const std::string two = hash("a\nb\n");
  EXPECT_EQ(hash("\na\n \t\r\nb"), two);
  EXPECT_NE(hash("b\na\n"), two);
  EXPECT_NE(hash("ab\n"), two);
  EXPECT_NE(hash("a\n"), two);
}

}  // namespace
}  // namespace bittern::request
