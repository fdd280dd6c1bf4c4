// SPDX-License-Identifier: Apache-2.0
// Which variable goes before which, and that nothing else than the caller's variables is read.
#include "hub/settings.hpp"

#include <gtest/gtest.h>

#include <map>

namespace bittern::hub {
namespace {

Result<Settings> SettingsWith(const std::map<std::string, std::string>& variables,
                              const Given& given = {}) {
  return SettingsFrom(given, [&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(Settings, CallerGoesBeforeVariables) {
  const std::map<std::string, std::string> variables = {{"HOME", "/home/tern"},
                                                        {"HF_ENDPOINT", "https://mirror.example/"},
                                                        {"HF_TOKEN", " hf_one \n"},
                                                        {"HF_HUB_OFFLINE", "Yes"}};
  const Settings plain = SettingsWith(variables).value();
  EXPECT_EQ(plain.endpoint, "https://mirror.example");
  EXPECT_EQ(plain.cache, "/home/tern/.cache/huggingface/hub");
  EXPECT_EQ(plain.token, "hf_one");
  EXPECT_TRUE(plain.offline);
  const Settings given = SettingsWith(variables, {.endpoint = "http://127.0.0.1:1",
                                                  .token = "hf_two",
                                                  .cache = "/models",
                                                  .connections = 2,
                                                  .retries = {}})
                             .value();
  EXPECT_EQ(given.endpoint, "http://127.0.0.1:1");
  EXPECT_EQ(given.cache, "/models");
  EXPECT_EQ(given.token, "hf_two");
  EXPECT_EQ(given.connections, 2);
}

TEST(Settings, HomesInOrder) {
  EXPECT_EQ(SettingsWith({{"HOME", "/h"}, {"XDG_CACHE_HOME", "~/c"}})->cache,
            "/h/c/huggingface/hub");
  EXPECT_EQ(SettingsWith({{"HF_HOME", "/f"}, {"XDG_CACHE_HOME", "/c"}})->cache, "/f/hub");
  EXPECT_EQ(SettingsWith({{"HF_HOME", "/f"}, {"HF_HUB_CACHE", "/g"}})->cache, "/g");
}

TEST(Settings, VariablesInPaths) {
  const auto cache = [](const std::string& path) {
    return SettingsWith({{"HOME", "/h"}, {"A_1", "a$HOME"}, {"HF_HUB_CACHE", path}})
        ->cache.string();
  };
  EXPECT_EQ(cache("$HOME/x"), "/h/x");
  EXPECT_EQ(cache("~/x"), "/h/x");
  EXPECT_EQ(cache("~"), "/h");
  EXPECT_EQ(cache("~/${A_1}/$A_1-$A_12"), "/h/a$HOME/a$HOME-$A_12");  // once, and what is not set
  EXPECT_EQ(cache("/$/${/${}/a$"), "/$/${/${}/a$");
  EXPECT_EQ(SettingsWith({{"HOME", "/h"}, {"HF_HOME", "$HOME/f"}})->cache, "/h/f/hub");
}

TEST(Settings, NoTokenUnlessGiven) {
  const std::map<std::string, std::string> variables = {
      {"HOME", "/h"}, {"HF_TOKEN", "hf_one"}, {"HF_HUB_DISABLE_IMPLICIT_TOKEN", "1"}};
  EXPECT_EQ(SettingsWith(variables)->token, "");
  const Given given = {
      .endpoint = {}, .token = "hf_two", .cache = {}, .connections = {}, .retries = {}};
  EXPECT_EQ(SettingsWith(variables, given)->token, "hf_two");
}

TEST(Settings, Refusals) {
  EXPECT_FALSE(SettingsFrom({}, {}));  // no folder for models
  EXPECT_FALSE(SettingsWith({{"HOME", "/h"}, {"HF_ENDPOINT", "ftp://x"}}));
  EXPECT_FALSE(SettingsWith({{"HOME", "/h"}, {"HF_TOKEN", "a b"}}));
}

}  // namespace
}  // namespace bittern::hub
