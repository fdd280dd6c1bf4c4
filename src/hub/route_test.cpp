// SPDX-License-Identifier: Apache-2.0
// The token stays with the host that was asked first.
#include "hub/route.hpp"

#include <gtest/gtest.h>

#include "hub/http.hpp"

namespace bittern::hub {
namespace {

class RouteTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!HttpClient::Create(std::chrono::seconds(1), "")) GTEST_SKIP() << "built without libcurl";
  }
};

TEST_F(RouteTest, TokenStaysAtTheFirstHost) {
  Route route("https://hub.example/a", "secret");
  EXPECT_EQ(route.token(), "secret");
  ASSERT_TRUE(route.Follow("/b"));
  EXPECT_EQ(route.url(), "https://hub.example/b");
  EXPECT_EQ(route.token(), "secret");
  ASSERT_TRUE(route.Follow("https://HUB.example:443/c"));
  EXPECT_EQ(route.token(), "secret");
  ASSERT_TRUE(route.Follow("https://cdn.example/d"));
  EXPECT_EQ(route.token(), "");
  ASSERT_TRUE(route.Follow("https://hub.example/e"));
  EXPECT_EQ(route.token(), "") << "a stranger led back";
  route.Restart();
  EXPECT_EQ(route.url(), "https://hub.example/a");
  EXPECT_EQ(route.token(), "secret");
}

TEST_F(RouteTest, OtherPortsAndNamesAreOtherHosts) {
  for (const char* other : {"https://hub.example:444/", "https://hub.example.evil.example/",
                            "https://sub.hub.example/", "//cdn.example/x"}) {
    Route route("https://hub.example/a", "secret");
    ASSERT_TRUE(route.Follow(other)) << other;
    EXPECT_EQ(route.token(), "") << other;
  }
}

TEST_F(RouteTest, RefusesWhatIsNoWay) {
  for (const char* other : {"", "http://hub.example/", "file:///etc/passwd", "ftp://x/",
                            "https://user:pw@hub.example/", "javascript:1", "JavaScript:1"}) {
    EXPECT_FALSE(Route("https://hub.example/a", "").Follow(other)) << other;
  }
  for (const char* other : {"HTTPS://hub.example/b", "./a:b", "b?c:d"}) {
    EXPECT_TRUE(Route("https://hub.example/a", "").Follow(other)) << other;
  }
  Route loop("https://hub.example/a", "");
  int hops = 0;
  while (loop.Follow("/a")) ASSERT_LT(++hops, 100);
  EXPECT_EQ(hops, 8);
}

}  // namespace
}  // namespace bittern::hub
