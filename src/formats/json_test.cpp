// SPDX-License-Identifier: Apache-2.0
// Every type of value, and every way a text can be no JSON or too much of it.
#include "formats/json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bittern::formats {
namespace {

using ::testing::HasSubstr;

Json ParseGood(std::string_view text) {
  auto json = Json::Parse(text, {});
  EXPECT_TRUE(json) << json.error().message;
  return json ? *std::move(json) : Json();
}

std::string Refusal(std::string_view text, const JsonLimits& limits = {}) {
  const auto json = Json::Parse(text, limits);
  if (json) return "parsed";
  EXPECT_EQ(json.error().code, ErrorCode::kCorruptFile);
  return json.error().message;
}

TEST(Json, EveryTypeOfValue) {
  const Json json =
      ParseGood(R"({"n":null,"t":true,"u":18446744073709551615,"i":-9223372036854775808,)"
                R"("d":1.5,"s":"a\u00e9\n","a":[1,[2]],"o":{"x":{}}})");
  EXPECT_TRUE(json.Find("n")->is_null());
  EXPECT_EQ(json.Find("t")->AsBool(), true);
  EXPECT_EQ(json.Find("u")->AsUint(), 18446744073709551615u);
  EXPECT_EQ(json.Find("i")->AsUint(), std::nullopt);
  EXPECT_EQ(json.Find("i")->AsNumber(), -9223372036854775808.0);
  EXPECT_EQ(json.Find("d")->AsUint(), std::nullopt);
  EXPECT_EQ(json.Find("d")->AsNumber(), 1.5);
  EXPECT_EQ(*json.Find("s")->AsString(), "a\u00e9\n");
  EXPECT_EQ(json.Find("a")->AsArray()->size(), 2u);
  EXPECT_EQ((*(*json.Find("a")->AsArray())[1].AsArray())[0].AsUint(), 2u);
  EXPECT_EQ(json.Find("o")->Find("x")->AsObject()->size(), 0u);
  EXPECT_EQ(json.Find("zz"), nullptr);
  EXPECT_EQ(json.Find("a")->Find("x"), nullptr);
  EXPECT_EQ(json.Find("u")->AsString(), nullptr);
  EXPECT_EQ(json.Find("s")->TypeName(), "a string");
  EXPECT_EQ(json.TypeName(), "an object");
  EXPECT_EQ(json.Find("s")->Shown().front(), '"');
  EXPECT_EQ(json.Find("d")->Shown(), "1.5");
  EXPECT_EQ(json.Find("a")->Shown(), "an array");
}

TEST(Json, KeysKeepTheirOrder) {
  const Json json = ParseGood(R"({"b":1,"a":2,"c":3})");
  std::string order;
  for (const Json::Member& member : *json.AsObject()) order += member.key;
  EXPECT_EQ(order, "bac");
}

TEST(Json, IntegersBeyondDoublesStayExact) {
  EXPECT_EQ(ParseGood("9007199254740993").AsUint(), 9007199254740993u);
  // Too large for 64 bits: a number, but no integer.
  EXPECT_EQ(ParseGood("18446744073709551616").AsUint(), std::nullopt);
  EXPECT_EQ(ParseGood("1e3").AsUint(), std::nullopt);
}

TEST(Json, RefusesWhatIsNotJson) {
  EXPECT_THAT(Refusal(""), HasSubstr("not valid JSON at byte"));
  EXPECT_THAT(Refusal("{\"a\":1"), HasSubstr("not valid JSON at byte"));
  EXPECT_THAT(Refusal("{} {}"), HasSubstr("not valid JSON at byte"));
  EXPECT_THAT(Refusal("[1,]"), HasSubstr("not valid JSON at byte 4"));
  EXPECT_THAT(Refusal("\"\xff\""), HasSubstr("not valid JSON at byte"));
  EXPECT_THAT(Refusal("[1e999]"), HasSubstr("not valid JSON at byte"));
  EXPECT_THAT(Refusal("NaN"), HasSubstr("not valid JSON at byte"));
}

TEST(Json, RefusesRepeatedKeys) {
  EXPECT_THAT(Refusal(R"({"a":1,"b":2,"a":3})"), HasSubstr("key \"a\" appears twice"));
  EXPECT_EQ(Refusal(R"([{"a":1},{"a":1}])"), "parsed");
}

TEST(Json, Limits) {
  const std::string deep = std::string(5, '[') + std::string(5, ']');
  EXPECT_EQ(Refusal(deep, {.max_depth = 5}), "parsed");
  EXPECT_THAT(Refusal(deep, {.max_depth = 4}), HasSubstr("deeper than 4 levels"));
  EXPECT_EQ(Refusal("[1,2,3]", {.max_values = 4}), "parsed");
  EXPECT_THAT(Refusal("[1,2,3]", {.max_values = 3}), HasSubstr("more than 3 JSON values"));
  EXPECT_THAT(Refusal("[1,2,3]", {.max_bytes = 6}), HasSubstr("at most 6 bytes"));
  EXPECT_THAT(Refusal(std::string(1000000, '[')), HasSubstr("deeper than 32 levels"));
}

}  // namespace
}  // namespace bittern::formats
