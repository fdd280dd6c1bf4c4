// SPDX-License-Identifier: Apache-2.0
#include "serve/http/http_text.hpp"

#include <gtest/gtest.h>

#include "base/text/percent.hpp"

namespace bittern::serve {
namespace {

TEST(HttpText, PercentCodingKeepsWhatIsNone) {
  constexpr std::pair<const char*, const char*> kCases[] = {
      {"", ""},       {"a%20b", "a b"},     {"%41%4a%4A", "AJJ"}, {"100%", "100%"},
      {"%4", "%4"},   {"%zz%4z", "%zz%4z"}, {"%%41", "%A"},       {"%2541", "%41"},
      {"%+1", "%+1"}, {"%-1", "%-1"},       {"% 1", "% 1"},       {"%0x41", "%0x41"},
      {"a+b", "a+b"}, {"%c3%A9", "é"},      {"%41%", "A%"},       {"%41%4", "A%4"}};
  for (const auto& [coded, text] : kCases) EXPECT_EQ(PercentDecoded(coded), text) << coded;
  EXPECT_EQ(PercentDecoded("%00"), std::string(1, '\0'));
}

TEST(HttpText, QueriesAreReadByName) {
  struct Case {
    const char *query, *name;
    std::optional<std::string> value;
  };
  const Case cases[] = {{"", "a", std::nullopt},
                        {"a=1&b=2", "b", "2"},
                        {"a=1&a=2", "a", "1"},
                        {"aa=1", "a", std::nullopt},
                        {"a", "a", ""},
                        {"a&b", "b", ""},
                        {"a=", "a", ""},
                        {"a=b=c", "a", "b=c"},
                        {"a=x+y%2Bz", "a", "x y+z"},
                        {"%61=1", "a", "1"},
                        {"a+b=1", "a b", "1"},
                        {"a=1%26b=2", "b", std::nullopt},
                        {"&&a=1&", "a", "1"},
                        {"=1", "a", std::nullopt}};
  for (const auto& [query, name, value] : cases) EXPECT_EQ(QueryValue(query, name), value) << query;
}

TEST(HttpText, SecretsAreWholeAndNeverEmpty) {
  EXPECT_TRUE(SameSecret("key", "key"));
  for (const char* wrong : {"", "k", "ke", "keyy", "Key", "keykey", "yek", "kez"}) {
    EXPECT_FALSE(SameSecret(wrong, "key")) << wrong;
  }
  EXPECT_FALSE(SameSecret("", ""));
  EXPECT_FALSE(SameSecret(std::string_view("key\0", 4), "key"));
}

TEST(HttpText, TokensMatchWhateverTheirCapitals) {
  EXPECT_EQ(LowerCase("X-Api-KEY-é[@Z"), "x-api-key-é[@z");
  EXPECT_TRUE(IsToken("Keep-ALIVE", "keep-alive"));
  EXPECT_FALSE(IsToken("keep_alive", "keep-alive"));
  EXPECT_FALSE(IsToken("close ", "close"));
}

TEST(HttpText, ErrorsHaveTheShapeOfTheirApi) {
  EXPECT_EQ(ErrorBody(400, "a \"b\"", "messages[0]"),
            R"({"error":{"code":400,"message":"a \"b\"","type":"invalid_request_error",)"
            R"("param":"messages[0]"}})");
  EXPECT_EQ(ErrorBody(503, "x"),
            R"({"error":{"code":503,"message":"x","type":"unavailable_error","param":null}})");
  constexpr std::pair<int, const char*> kTypes[] = {
      {400, "invalid_request_error"}, {401, "authentication_error"},  {403, "permission_error"},
      {404, "not_found_error"},       {405, "invalid_request_error"}, {500, "server_error"},
      {501, "not_supported_error"},   {503, "unavailable_error"}};
  for (const auto& [status, type] : kTypes) EXPECT_EQ(ErrorType(status), type) << status;
}

}  // namespace
}  // namespace bittern::serve
