// SPDX-License-Identifier: Apache-2.0
// However an answer is cut into pieces, it holds the same text and the same calls.
#include "request/tool_stream.hpp"

#include <gtest/gtest.h>

#include <random>

namespace bittern::request {
namespace {

ToolAnswerParts InPieces(const ToolReading& reading, std::string_view text, std::mt19937* random) {
  ToolStream stream(reading);
  ToolAnswerParts parts;
  const auto take = [&](const std::vector<ToolEvent>& events) {
    for (const ToolEvent& event : events) {
      if (event.kind == ToolEvent::Kind::kContent) parts.content += event.text;
      if (event.kind == ToolEvent::Kind::kStart) parts.calls.push_back({event.text, {}});
      if (event.kind == ToolEvent::Kind::kArguments) {
        parts.calls.at(event.call).arguments += event.text;
      }
    }
  };
  while (!text.empty()) {
    const std::size_t size = std::min<std::size_t>(text.size(), 1 + (*random)() % 7);
    take(stream.Feed(text.substr(0, size)));
    text.remove_prefix(size);
  }
  take(stream.Finish());
  return parts;
}

struct Case {
  const char* form;
  bool triggered, loose;
  const char* text;
  const char* content;
  std::vector<std::pair<const char*, const char*>> calls;
};

const Case kCases[] = {
    {"hermes", false, false, "Well, <tool and <<tool_call.", "Well, <tool and <<tool_call.", {}},
    {"hermes", false, false, "  \n", "  \n", {}},
    {"hermes",
     false,
     false,
     "\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"}\\\"{\", \"b\": "
     "[{}]}}\n</tool_call>",
     "",
     {{"f", R"({"a": "}\"{", "b": [{}]})"}}},
    {"hermes",
     true,
     false,
     "\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>\n<tool_call>\n{\"name\": \"g\", "
     "\"arguments\": {\"x\": 1}}\n</tool_call>",
     "",
     {{"f", "{}"}, {"g", R"({"x": 1})"}}},
    {"hermes", true, false, "\n{\"name\": \"f\", \"arguments\": {\"cut", "", {{"f", "{\"cut"}}},
    {"mistral",
     false,
     false,
     R"(So [TOOL_CALLS][{"name": "f", "arguments": {}}, {"name": "f", )"
     R"("arguments": {"a": 2}}])",
     "So ",
     {{"f", "{}"}, {"f", R"({"a": 2})"}}},
    {"mistral",
     false,
     true,
     R"([TOOL_CALLS] [{"arguments": {"a":1}, "id": "x", "name": "f"}])",
     "",
     {{"f", R"({"a": 1})"}}},
    {"mistral", false, true, "[TOOL_CALLS] none", "[TOOL_CALLS] none", {}},
    {"llama3",
     false,
     false,
     R"({"name": "f", "parameters": {"a": "b"}})",
     "",
     {{"f", R"({"a": "b"})"}}},
    {"llama3", false, false, "Hello {", "Hello {", {}},
};

TEST(ToolStream, PiecesAndWholeAreTheSame) {
  std::mt19937 random(3);
  for (const Case& one : kCases) {
    const ToolReading reading{grammar::FindToolForm(one.form), one.triggered, one.loose};
    for (int i = 0; i < 50; ++i) {
      const ToolAnswerParts parts =
          i == 0 ? ReadToolAnswer(reading, one.text) : InPieces(reading, one.text, &random);
      EXPECT_EQ(parts.content, one.content) << one.text;
      ASSERT_EQ(parts.calls.size(), one.calls.size()) << one.text;
      for (std::size_t k = 0; k < parts.calls.size(); ++k) {
        EXPECT_EQ(parts.calls[k].name, one.calls[k].first);
        EXPECT_EQ(parts.calls[k].arguments, one.calls[k].second);
      }
    }
  }
}

}  // namespace
}  // namespace bittern::request
