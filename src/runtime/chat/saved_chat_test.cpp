// SPDX-License-Identifier: Apache-2.0
#include "runtime/chat/saved_chat.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace bittern::runtime {
namespace {

using testing::HasSubstr;

SavedChat Example() {
  SavedChat chat{.model = "a \"model\"", .system = "Be brief."};
  chat.turns.push_back(
      {"What\nis it?", {.ids = {1, 2, 300}, .text = "It is \xc3\xa9.", .finish = {}, .seed = 7}});
  chat.turns.push_back({"\xe6\xbc\xa2", {.ids = {}, .text = "", .finish = {}}});
  chat.settings["temperature"] = 0.5;
  return chat;
}

TEST(SavedChat, IsReadAsItWasWritten) {
  const SavedChat chat = Example();
  const std::string text = WriteSavedChat(chat);
  const auto read = ReadSavedChat(text);
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->system, chat.system);
  ASSERT_EQ(read->turns.size(), 2u);
  EXPECT_EQ(read->turns[0].user, chat.turns[0].user);
  EXPECT_EQ(read->turns[0].reply.text, chat.turns[0].reply.text);
  EXPECT_EQ(read->turns[0].reply.ids, chat.turns[0].reply.ids);
  EXPECT_EQ(read->turns[0].reply.seed, 7u);
  EXPECT_EQ(WriteSavedChat(*read), text);
}

TEST(SavedChat, OtherFormsAreNamed) {
  const auto error = [](std::string_view text) {
    const auto read = ReadSavedChat(text);
    return read.has_value() ? std::string("none") : read.error().message;
  };
  const auto with = [&](const std::string& rest) {
    return error("{\"bittern_chat\":1," + rest + "}");
  };
  EXPECT_THAT(error("{\"messages\":[]}"),
              HasSubstr("bittern_chat: version 1 expected, null found"));
  EXPECT_THAT(error("{\"bittern_chat\":1.5,\"messages\":[]}"), HasSubstr("1.5 found"));
  EXPECT_THAT(with("\"messages\":3"), HasSubstr("messages: a list expected"));
  EXPECT_THAT(with("\"messages\":[3]"), HasSubstr("messages[0]: an object expected"));
  EXPECT_THAT(with(R"("messages":[{"role":"user","content":"a"},{"role":"user","content":"b"}])"),
              HasSubstr("messages[1].role: \"assistant\" expected"));
  EXPECT_THAT(with(R"("messages":[{"role":"tool","content":"a"}])"),
              HasSubstr("messages[0].role: \"system\" or \"user\" expected"));
  EXPECT_THAT(with(R"("messages":[{"role":"user","content":["a"]}])"),
              HasSubstr("messages[0].content: a text expected"));
  for (const char* ids :
       {"3", "[\"x\"]", "[-1]", "[1.5]", "[4294967296]", "[99999999999999999999]"}) {
    EXPECT_THAT(with(std::string(R"("messages":[{"role":"user","content":""},)") +
                     R"({"role":"assistant","content":"a","ids":)" + ids + "}]"),
                HasSubstr("messages[1].ids: "))
        << ids;
  }
  EXPECT_THAT(with("\"settings\":[],\"messages\":[]"), HasSubstr("settings: an object expected"));
  EXPECT_THAT(error(std::string(1 << 20, '[')), HasSubstr("nested"));
  EXPECT_THAT(
      error("{\"bittern_chat\":" + std::string(1 << 18, '[') + std::string(1 << 18, ']') + "}"),
      HasSubstr("nested"));
  EXPECT_THAT(error("\xff"), HasSubstr("not valid JSON"));
}

// Damage anywhere is an error or another conversation, never a crash.
TEST(SavedChat, DamagedFilesDoNoHarm) {
  const std::string text = WriteSavedChat(Example());
  std::mt19937 random(1);
  int errors = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = text;
    for (int n = 0; n < 3; ++n) {
      damaged[random() % damaged.size()] = "{}[],:\"0x\xff\\-"[random() % 12];
    }
    if (i % 3 == 0) damaged.resize(random() % damaged.size());
    const auto read = ReadSavedChat(damaged);
    errors += read.has_value() ? 0 : 1;
    if (read.has_value()) {
      EXPECT_FALSE(WriteSavedChat(*read).empty());
    }
  }
  EXPECT_GT(errors, 1000);
}

}  // namespace
}  // namespace bittern::runtime
