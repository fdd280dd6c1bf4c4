// SPDX-License-Identifier: Apache-2.0
// Names of users, hosts and folders go; what only looks a little like them stays.
#include "report/bug/private_text.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace bittern::report {
namespace {

PrivateWords Someone() {
  PrivateWords words;
  words.texts = {{"/srv/people/ada", "~"}};
  words.words = {{"ada", "(user)"}, {"castle", "(host)"}};
  words.AddPath("/data/secret/model.gguf");
  return words;
}

std::string Clean(std::string text) { return WithoutPrivate(std::move(text), Someone()); }

TEST(PrivateText, FoldersOfUsersBecomeATilde) {
  EXPECT_EQ(Clean("/home/ada/m.gguf: no"), "~/m.gguf: no");
  EXPECT_EQ(Clean("\"/home/bob\" and /Users/eve/x"), "\"~\" and ~/x");
  EXPECT_EQ(Clean("C:\\Users\\eve\\x"), "C:~\\x");
  EXPECT_EQ(Clean("/srv/people/ada/m"), "~/m");
  EXPECT_EQ(Clean("/home/"), "~");
}

TEST(PrivateText, NamesGoWhereTheyStandAlone) {
  EXPECT_EQ(Clean("ada@castle: ada's"), "(user)@(host): (user)'s");
  EXPECT_EQ(Clean("adagio, Canada, castles, ada_1"), "adagio, Canada, castles, ada_1");
}

TEST(PrivateText, OfThePathTheNameOfTheFileStays) {
  EXPECT_EQ(Clean("/data/secret/model.gguf: cut off"), "model.gguf: cut off");
}

TEST(PrivateText, AsksTheMachine) {
  ASSERT_EQ(setenv("HOME", "/srv/people/zoe", 1), 0);
  ASSERT_EQ(setenv("USER", "zoe", 1), 0);
  ASSERT_EQ(setenv("HOSTNAME", "tower.example", 1), 0);
  EXPECT_EQ(WithoutPrivate("/srv/people/zoe zoe tower.example tower",
                           PrivateWords::OfThisMachine(
                               [](const char* name) -> const char* { return std::getenv(name); })),
            "~ (user) (host) (host)");
}

}  // namespace
}  // namespace bittern::report
