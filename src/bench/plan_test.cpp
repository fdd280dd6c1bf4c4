// SPDX-License-Identifier: Apache-2.0
#include "bench/plan.hpp"

#include <gtest/gtest.h>

namespace bittern::bench {
namespace {

ThreadedPlan PlanOf(const PlanTexts& texts) { return ParsePlan(texts, {}).value(); }

TEST(Plan, IsReadFromLists) {
  const std::string pairs[] = {"16,4"};
  const ThreadedPlan plan = PlanOf({"8,16", "4", "0", "1-2", pairs});
  EXPECT_EQ(plan.prompts, (std::vector<std::int32_t>{8, 16}));
  EXPECT_EQ(plan.threads, (std::vector<std::int32_t>{1, 2}));
  EXPECT_EQ(plan.pairs.front(), (std::pair<int, int>{16, 4}));
  const auto wrong = ParsePlan({"8", "4", "x", "1"}, {.depths = "-d"});
  ASSERT_FALSE(wrong);
  EXPECT_TRUE(wrong.error().message.starts_with("-d: "));
  const auto many = ParsePlan({"8", "4", "0", "100000"}, {.threads = "-t"});
  ASSERT_FALSE(many);
  EXPECT_TRUE(many.error().message.ends_with("100000 found"));
}

TEST(Plan, FitsIntoTheContextOrNamesTheListThatDoesNot) {
  const std::string pair[] = {"30,4"};
  EXPECT_TRUE(CheckPlan(PlanOf({"32", "31", "0", "0"}), 32, {}));
  EXPECT_FALSE(CheckPlan(PlanOf({"33", "4", "0", "0"}), 32, {}));
  EXPECT_FALSE(CheckPlan(PlanOf({"8", "32", "0", "0"}), 32, {}));
  EXPECT_FALSE(CheckPlan(PlanOf({"8", "4", "33", "0"}), 32, {}));
  EXPECT_FALSE(CheckPlan(PlanOf({"8", "4", "30", "0"}), 32, {}));
  const auto together = CheckPlan(PlanOf({"8", "4", "0", "0", pair}), 32, {.pairs = "-pg"});
  ASSERT_FALSE(together);
  EXPECT_EQ(together.error().message,
            "-pg: at most 32 tokens together expected with this model, 30,4 found");
}

TEST(Plan, CountsOfSequencesAreOneOrMore) {
  EXPECT_EQ(ParseSequenceCounts("1,2", "np").value().size(), 2);
  EXPECT_FALSE(ParseSequenceCounts("0", "np"));
  EXPECT_FALSE(ParseSequenceCounts("4097", "np"));
  EXPECT_EQ(ParseOneNumber("8", "-p", "-np").value(), 8);
  EXPECT_FALSE(ParseOneNumber("0", "-p", "-np"));
  const auto two = ParseOneNumber("8,9", "-p", "-np");
  ASSERT_FALSE(two);
  EXPECT_EQ(two.error().message, "-p: with -np one number of 1 or more expected, 8,9 found");
}

}  // namespace
}  // namespace bittern::bench
