// SPDX-License-Identifier: Apache-2.0
#include "base/calendar.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace bittern {
namespace {

TEST(CalendarTest, ReadsTheDateOfTheRfc) {
  EXPECT_EQ(HttpTime("Sun, 06 Nov 1994 08:49:37 GMT"), 784111777);
  EXPECT_EQ(HttpTime("Thu, 01 Jan 1970 00:00:00 GMT"), 0);
  EXPECT_EQ(HttpTime("Thu, 29 Feb 2024 23:59:59 GMT"), 1709251199);
}

TEST(CalendarTest, RefusesOtherTexts) {
  for (const char* text : {"", "tomorrow", "1994-11-06", "Sun, 31 Feb 1994 08:49:37 GMT"}) {
    EXPECT_EQ(HttpTime(text), std::nullopt) << text;
  }
}

TEST(CalendarTest, UtcIsTheInverse) {
  const auto at = UtcTime(784111777);
  ASSERT_TRUE(at.has_value());
  EXPECT_EQ(at->tm_year, 94);
  EXPECT_EQ(at->tm_mon, 10);
  EXPECT_EQ(at->tm_mday, 6);
  EXPECT_EQ(at->tm_wday, 0);
  EXPECT_EQ(at->tm_hour, 8);
  EXPECT_EQ(at->tm_sec, 37);
}

TEST(CalendarTest, TimesBeyondTheCalendarAreNone) {
  EXPECT_EQ(UtcTime(std::numeric_limits<std::time_t>::max()), std::nullopt);
  EXPECT_EQ(LocalTime(std::numeric_limits<std::time_t>::max()), std::nullopt);
}

}  // namespace
}  // namespace bittern
