// SPDX-License-Identifier: Apache-2.0
// The grammar of free text against std::string::find, and of calls against texts written by hand.
#include "grammar/tool_calls.hpp"

#include <gtest/gtest.h>

#include <random>

#include "grammar/compiled_grammar.hpp"
#include "grammar/constraint.hpp"
#include "grammar/matcher.hpp"

namespace bittern::grammar {
namespace {

const std::vector<Tool> kTools = {
    {"f", R"({"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]})"},
    {"g.2", R"({"type":"object","properties":{}})"}};

std::shared_ptr<CompiledGrammar> Compile(const ToolAnswer& answer) {
  std::vector<std::string> bytes;
  for (int byte = 0; byte < 256; ++byte) bytes.emplace_back(1, static_cast<char>(byte));
  const auto grammar = GrammarOf({ConstraintKind::kToolCalls, ToolAnswerText(answer)});
  EXPECT_TRUE(grammar) << grammar.error().message;
  auto trie = std::make_shared<const VocabularyTrie>(VocabularyTrie::Build(bytes));
  return *CompiledGrammar::Create(*grammar, std::move(trie));
}

bool IsWhole(const std::shared_ptr<CompiledGrammar>& grammar, std::string_view text) {
  Matcher matcher(grammar);
  return matcher.AcceptBytes(text) && matcher.accepting();
}

TEST(ToolCalls, FreeTextIsWhatDoesNotHoldTheTrigger) {
  std::mt19937 random(5);
  for (const char* const form : {"hermes", "mistral"}) {
    const auto grammar = Compile({.form = form, .free = true, .tools = kTools});
    const std::string trigger(FindToolForm(form)->trigger);
    int held = 0;
    for (int i = 0; i < 4000; ++i) {
      std::string text;
      while (text.size() < 30) {
        const std::size_t size = 1 + random() % trigger.size();
        text += random() % 4 == 0 ? std::string(1, static_cast<char>('!' + random() % 90))
                                  : trigger.substr(random() % 2 ? 0 : random() % size, size);
      }
      const bool holds = text.find(trigger) != std::string::npos;
      held += holds ? 1 : 0;
      EXPECT_EQ(IsWhole(grammar, text), !holds) << text;
    }
    EXPECT_GT(held, 100);
    EXPECT_LT(held, 3900);
  }
}

TEST(ToolCalls, CallsAreKeptToTheirSchemas) {
  const auto free = Compile({.free = true, .tools = kTools});
  const std::string one =
      "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 12}}\n</tool_call>";
  const std::string two = "<tool_call>\n{\"name\": \"g.2\", \"arguments\": {}}\n</tool_call>";
  EXPECT_TRUE(IsWhole(free, one));
  EXPECT_TRUE(IsWhole(free, "Well. " + one));
  EXPECT_TRUE(IsWhole(free, one + "\n" + two + "\n" + one));
  EXPECT_TRUE(IsWhole(free, ""));
  EXPECT_FALSE(IsWhole(free, one + " and more"));
  EXPECT_FALSE(IsWhole(free, one.substr(0, one.size() - 1)));
  EXPECT_FALSE(IsWhole(free, "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>"));
  EXPECT_FALSE(IsWhole(free, "<tool_call>\n{\"name\": \"h\", \"arguments\": {}}\n</tool_call>"));
  const auto forced = Compile({.triggered = true, .parallel = false, .tools = kTools});
  EXPECT_TRUE(IsWhole(forced, one.substr(11)));
  EXPECT_FALSE(IsWhole(forced, one.substr(11) + "\n" + two));
  EXPECT_FALSE(IsWhole(forced, one));
  const auto mistral = Compile({.form = "mistral", .tools = kTools});
  EXPECT_TRUE(IsWhole(mistral, R"([TOOL_CALLS][{"name": "g.2", "arguments": {}}, )"
                               R"({"name": "f", "arguments": {"a": 1}}])"));
  const auto llama = Compile({.form = "llama3", .free = true, .tools = kTools});
  EXPECT_TRUE(IsWhole(llama, R"({"name": "f", "parameters": {"a": 1}})"));
  EXPECT_TRUE(IsWhole(llama, "It is {cold}."));
  EXPECT_FALSE(IsWhole(llama, "{cold}"));
}

TEST(ToolCalls, TextAndBack) {
  const ToolAnswer answer{
      .form = "mistral", .free = true, .triggered = true, .parallel = false, .tools = kTools};
  const auto read = ParseToolAnswer(ToolAnswerText(answer));
  ASSERT_TRUE(read);
  EXPECT_EQ(ToolAnswerText(*ParseToolAnswer(ToolAnswerText(*read))), ToolAnswerText(*read));
  EXPECT_TRUE(read->form == "mistral" && read->free && read->triggered && !read->parallel);
  EXPECT_EQ(read->tools.size(), 2u);
  for (const ToolAnswer& bad : {ToolAnswer{.form = "x", .tools = kTools}, ToolAnswer{},
                                ToolAnswer{.tools = {{"a b", "{}"}}},
                                ToolAnswer{.tools = {{"f", R"({"unevaluatedItems": false})"}}}}) {
    const auto grammar = GrammarOf({ConstraintKind::kToolCalls, ToolAnswerText(bad)});
    ASSERT_FALSE(grammar);
    EXPECT_FALSE(grammar.error().message.empty());
  }
}

}  // namespace
}  // namespace bittern::grammar
