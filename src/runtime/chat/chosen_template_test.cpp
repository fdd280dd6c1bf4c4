// SPDX-License-Identifier: Apache-2.0
#include "runtime/chat/chosen_template.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

namespace bittern::runtime {
namespace {

using testing::HasSubstr;

TEST(ChosenTemplate, IsANameOrAFile) {
  EXPECT_EQ(ReadChosenTemplate("", "x").value(), "");
  EXPECT_EQ(ReadChosenTemplate("ChatML", "x").value(), "chatml");
  const std::string path = testing::TempDir() + "chosen.jinja";
  std::ofstream(path) << "{{ x }}";
  EXPECT_EQ(ReadChosenTemplate(path, "x").value(), "{{ x }}");
  std::remove(path.c_str());
  const auto missing = ReadChosenTemplate(path, "template");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("template: one of bitnet, llama3, chatml or a"));
}

TEST(ChosenTemplate, WritesAffixesAsLiterals) {
  EXPECT_THAT(TemplateOfAffixes("a\"\\", "\n"),
              HasSubstr(R"({{ "a\"\\" + m['content'] + "\n" }})"));
}

TEST(ChosenTemplate, NamesAreAnObject) {
  EXPECT_TRUE(ParseTemplateNames(R"({"a": 1})", "names"));
  const auto list = ParseTemplateNames("[]", "names");
  ASSERT_FALSE(list);
  EXPECT_EQ(list.error().message, "names: a JSON object expected, an array found");
  EXPECT_FALSE(ParseTemplateNames("{", "names"));
}

}  // namespace
}  // namespace bittern::runtime
