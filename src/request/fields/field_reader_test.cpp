// SPDX-License-Identifier: Apache-2.0
// The values that each reader of a field takes and refuses, and the words of its errors.
#include "request/fields/field_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bittern::request {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

Json Object(std::string_view text) { return ParseBody(text).value(); }

/// The result of a read of "f": "" and the value taken, or the error's words.
template <class Value, class Read>
std::string Outcome(const std::string& json, Value* value, Read read) {
  const Json object = Object("{\"f\": " + json + "}");
  FieldReader reader = FieldReader::Open(object).value();
  const Result<void> done = read(&reader, value);
  EXPECT_TRUE(reader.Finish().has_value()) << json;
  return done.has_value() ? "" : done.error().message;
}

TEST(FieldReader, WholeNumbersStayInTheirRange) {
  const auto read = [](FieldReader* reader, int* to) { return reader->Int("f", -2, 100, to); };
  for (const auto& [json, expected] :
       {std::pair("-2", -2), std::pair("100", 100), std::pair("7.0", 7), std::pair("1e2", 100),
        std::pair("-0", 0), std::pair("null", 55)}) {
    int value = 55;
    EXPECT_EQ(Outcome(json, &value, read), "") << json;
    EXPECT_EQ(value, expected) << json;
  }
  for (const char* json : {"-3", "101", "1.5", "\"1\"", "true", "[1]", "1e300", "-1e300"}) {
    int value = 55;
    EXPECT_THAT(Outcome(json, &value, read),
                HasSubstr("f: a whole number from -2 to 100 expected, "))
        << json;
    EXPECT_EQ(value, 55) << json;
  }
}

TEST(FieldReader, OtherKindsOfValues) {
  float number = 9;
  const auto read_number = [](FieldReader* reader, float* to) {
    return reader->Float("f", to, 0, 2);
  };
  EXPECT_EQ(Outcome("0.5", &number, read_number), "");
  EXPECT_EQ(number, 0.5F);
  EXPECT_EQ(Outcome("2.1", &number, read_number), "f: a number from 0 to 2 expected, 2.1 found");
  EXPECT_EQ(Outcome("\"1\"", &number, read_number),
            "f: a number from 0 to 2 expected, \"1\" found");
  bool flag = true;
  const auto read_flag = [](FieldReader* reader, bool* to) { return reader->Flag("f", to); };
  EXPECT_EQ(Outcome("false", &flag, read_flag), "");
  EXPECT_FALSE(flag);
  EXPECT_EQ(Outcome("0", &flag, read_flag), "f: true or false expected, 0 found");
  std::string text = "old";
  const auto read_text = [](FieldReader* reader, std::string* to) { return reader->Text("f", to); };
  EXPECT_EQ(Outcome("null", &text, read_text), "");
  EXPECT_EQ(text, "old");
  EXPECT_EQ(Outcome("\"\"", &text, read_text), "");
  EXPECT_EQ(text, "");
  EXPECT_EQ(Outcome("[]", &text, read_text), "f: a text expected, [] found");
}

TEST(FieldReader, TextsAreOneOrAFew) {
  std::vector<std::string> texts = {"old"};
  const auto read = [](FieldReader* reader, std::vector<std::string>* to) {
    return reader->Texts("f", 2, to);
  };
  EXPECT_EQ(Outcome("\"a\"", &texts, read), "");
  EXPECT_THAT(texts, ElementsAre("a"));
  EXPECT_EQ(Outcome("[\"a\", \"b\"]", &texts, read), "");
  EXPECT_THAT(texts, ElementsAre("a", "b"));
  EXPECT_EQ(Outcome("[]", &texts, read), "");
  EXPECT_TRUE(texts.empty());
  for (const char* json : {"[\"a\", \"b\", \"c\"]", "[1]", "1", "{}"}) {
    EXPECT_THAT(Outcome(json, &texts, read), StartsWith("f")) << json;
  }
}

TEST(FieldReader, SeedsHave32BitsAndMinusOneDrawsOne) {
  const auto read = [](FieldReader* reader, std::uint32_t* to) { return reader->Seed("f", to); };
  std::uint32_t seed = 0;
  EXPECT_EQ(Outcome("4294967295", &seed, read), "");
  EXPECT_EQ(seed, 4294967295U);
  EXPECT_EQ(Outcome("7", &seed, read), "");
  EXPECT_EQ(Outcome("-1", &seed, read), "");
  EXPECT_EQ(seed, 4294967295U);
  for (const char* json : {"4294967296", "-2", "0.5", "\"1\""}) {
    EXPECT_THAT(Outcome(json, &seed, read), HasSubstr("f: ")) << json;
  }
}

TEST(FieldReader, UnreadFieldsAreErrorsEvenIfTheyAreNull) {
  const Json object = Object(R"({"known": 1, "temprature": 1, "gone": null})");
  FieldReader reader = FieldReader::Open(object, "options").value();
  int known = 0;
  ASSERT_TRUE(reader.Int("known", 0, 9, &known).has_value());
  const auto finished = reader.Finish();
  ASSERT_FALSE(finished.has_value());
  EXPECT_EQ(FieldOfError(finished.error()), "options.temprature");
  reader.Ignore({"temprature"});
  EXPECT_EQ(FieldOfError(reader.Finish().error()), "options.gone");
  EXPECT_FALSE(reader.Has("gone"));
  EXPECT_EQ(reader.Take("gone"), nullptr);
  EXPECT_TRUE(reader.Finish().has_value());
}

TEST(FieldReader, UnsupportedFieldsMayOnlySayWhatHappensAnyway) {
  const char* const neutral[] = {"null", "false", "\"\"", "[]", "{}", "0.0"};
  const char* const other[] = {"true", "\"a\"", "[0]", "{\"a\": 0}", "1", "-1"};
  for (const auto& [values, good] : {std::pair(neutral, true), std::pair(other, false)}) {
    for (int i = 0; i < 6; ++i) {
      const Json object = Object(std::string("{\"f\": ") + values[i] + "}");
      FieldReader reader = FieldReader::Open(object).value();
      EXPECT_EQ(reader.OnlyNeutral({"f", "absent"}).has_value(), good) << values[i];
    }
  }
}

TEST(ParseBody, TakesOneObjectInUtf8) {
  EXPECT_TRUE(ParseBody(R"({"a": "é"})").has_value());
  for (const std::string body : {"", "[]", "1", "null", "{", "{}{}", "{\"a\": 1, \"a\": 2}",
                                 "{\"a\": \"\xff\"}", "{'a': 1}", "{\"a\": NaN}"}) {
    const auto json = ParseBody(body);
    ASSERT_FALSE(json.has_value()) << body;
    EXPECT_EQ(json.error().code, ErrorCode::kInvalidArgument) << body;
    EXPECT_EQ(FieldOfError(json.error()), "") << body;
  }
  EXPECT_FALSE(ParseBody("{\"a\": " + std::string(100, '[') + std::string(100, ']') + "}"));
}

TEST(FieldOfError, ReadsPathsOnly) {
  const auto of = [](std::string message) {
    return FieldOfError({ErrorCode::kInvalidArgument, std::move(message)});
  };
  EXPECT_EQ(of("messages[2].content: a text expected"), "messages[2].content");
  EXPECT_EQ(of("two words: no"), "");
  EXPECT_EQ(of(": no"), "");
  EXPECT_EQ(of("no colon"), "");
  EXPECT_EQ(FieldOfError({ErrorCode::kIo, "file: cannot be read"}), "");
}

}  // namespace
}  // namespace bittern::request
