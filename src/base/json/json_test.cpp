// SPDX-License-Identifier: Apache-2.0
// Every type of value, and every way a text can be no JSON or too much of it.
#include "base/json/json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bittern {
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
  EXPECT_EQ(Json(2560.0).Shown(), "2560.0");
  EXPECT_EQ(Json(-1e300).Shown(), "-1e+300");
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

TEST(Json, WritesEveryTypeOfValue) {
  const Json json = {{"null", nullptr},
                     {"flags", {true, false}},
                     {"int", -3},
                     {"big", ~0ull},
                     {"float", 0.5f},
                     {"whole", 2.0},
                     {"small", 1e-7},
                     {"none", Json::MakeObject()},
                     {"text", "a\"\\\n\x01\x7f/"}};
  EXPECT_EQ(json.Dump(),
            R"({"null":null,"flags":[true,false],"int":-3,"big":18446744073709551615,"float":0.5,)"
            R"("whole":2.0,"small":1e-07,"none":{},"text":"a\"\\\n\u0001)"
            "\x7f/\"}");
  EXPECT_EQ(Json(1.0 / 0.0).Dump(), "null");
  EXPECT_EQ(Json(-0.0).Dump(), "-0.0");
  EXPECT_EQ(Json(0.1f).Dump(), "0.10000000149011612");
}

TEST(Json, WritesBadUtf8AsReplacementAndAsciiOnDemand) {
  EXPECT_EQ(Json("\xffz\xe2\x82").Dump(), "\"\uFFFDz\uFFFD\"");
  EXPECT_EQ(Json("\u00e9\U0001F600").DumpAscii(), R"("\u00e9\ud83d\ude00")");
}

TEST(Json, IndentsAsOthersDo) {
  const Json json = {{"a", {1, Json::MakeArray()}}, {"b", Json::MakeObject()}};
  EXPECT_EQ(json.Dump(2), "{\n  \"a\": [\n    1,\n    []\n  ],\n  \"b\": {}\n}");
}

TEST(Json, ListsOfPairsAreObjects) {
  EXPECT_EQ(Json({{"a", 1}, {"b", "c"}}).Dump(), R"({"a":1,"b":"c"})");
  EXPECT_EQ(Json({"a", "b"}).Dump(), R"(["a","b"])");
  EXPECT_EQ(Json({{1, 2}, {3, 4}}).Dump(), "[[1,2],[3,4]]");
  EXPECT_EQ(Json(std::vector<std::string>{"x", "y"}).Dump(), R"(["x","y"])");
}

TEST(Json, IsChangedInPlace) {
  Json json;
  json["list"].push_back(1);
  json["list"].push_back("two");
  json["list"][0] = nullptr;
  json["object"]["inner"] = 5;
  json.Update({{"list", 7}, {"new", true}});
  json.Erase("object");
  EXPECT_EQ(json.Dump(), R"({"list":7,"new":true})");
  EXPECT_TRUE(std::as_const(json)["absent"]["deeper"][3].is_null());
  EXPECT_FALSE(json.contains("absent"));
}

TEST(Json, ReadsWhatItWrites) {
  const Json json = {{"a", {0.1, 1e300, 5e-324, -7, 9007199254740993}}, {"b", "\u2028\\u0000"}};
  EXPECT_EQ(ParseGood(json.Dump()), json);
  EXPECT_EQ(ParseGood(json.Dump(1)), json);
  EXPECT_EQ(ParseGood(json.DumpAscii()), json);
}

}  // namespace
}  // namespace bittern
