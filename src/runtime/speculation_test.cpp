// SPDX-License-Identifier: Apache-2.0
// The index against a search that is plain to read, and the two promises of the policy: it drafts
// where that pays, and what it loses is bounded whatever happens.
#include "runtime/speculation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace bittern::runtime {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// The last place, but for the end, where the last n tokens stand; the longest n first.
NgramIndex::Match Search(const std::vector<TokenId>& text) {
  for (std::size_t n = std::min(NgramIndex::kLongest, text.size()); n >= 2; --n) {
    const auto tail = std::span(text).last(n);
    for (std::size_t next = text.size() - 1; next >= n; --next) {
      if (std::ranges::equal(std::span(text).subspan(next - n, n), tail)) return {n, next};
    }
  }
  return {};
}

TEST(NgramIndex, FindsWhatASearchFinds) {
  std::mt19937 random(1);
  std::size_t found[NgramIndex::kLongest + 1] = {};
  for (const int vocabulary : {1, 2, 5, 20, 1000}) {
    NgramIndex index;
    std::vector<TokenId> text;
    for (int i = 0; i < 300; ++i) {
      const NgramIndex::Match expected = Search(text);
      const NgramIndex::Match match = index.Find();
      ASSERT_EQ(match.length, expected.length) << vocabulary << ", token " << i;
      ASSERT_EQ(match.next, expected.next) << vocabulary << ", token " << i;
      ++found[match.length];
      text.push_back(static_cast<TokenId>(random() % static_cast<unsigned>(vocabulary)));
      index.Append(text.back());
    }
    EXPECT_TRUE(std::ranges::equal(index.tokens(), text));
  }
  for (const std::size_t n : {0, 2, 3, 4}) EXPECT_GT(found[n], 0u) << n;
}

std::vector<TokenId> Guess(const std::vector<TokenId>& context, std::size_t limit,
                           Speculation mode = Speculation::kAlways) {
  DraftPolicy policy;
  std::vector<TokenId> draft = {99};
  Drafter(mode, context, &policy).Draft(limit, &draft);
  return draft;
}

TEST(Drafter, GoesOnAsTheTextDidBefore) {
  EXPECT_THAT(Guess({1, 2, 3, 4, 5, 1, 2}, 3), ElementsAre(3, 4, 5));
  EXPECT_THAT(Guess({1, 2, 3, 4, 5, 1, 2}, 0), IsEmpty());
  EXPECT_THAT(Guess({1, 2, 3, 4, 5, 2, 1}, 3), IsEmpty());
  EXPECT_THAT(Guess({}, 3), IsEmpty());
  EXPECT_THAT(Guess({7}, 3), IsEmpty());
  EXPECT_THAT(Guess({1, 2, 3, 4, 5, 1, 2}, 3, Speculation::kOff), IsEmpty());
}

TEST(Drafter, PrefersTheLongerMatchToTheLater) {
  EXPECT_THAT(Guess({1, 2, 3, 8, 9, 2, 3, 7, 1, 2, 3}, 1), ElementsAre(8));
  EXPECT_THAT(Guess({1, 2, 8, 1, 2, 7, 1, 2}, 1), ElementsAre(7));
}

TEST(Drafter, ARepeatingTextRepeats) {
  EXPECT_THAT(Guess({1, 2, 3, 1, 2, 3, 1}, 7), ElementsAre(2, 3, 1, 2, 3, 1, 2));
  EXPECT_EQ(Guess({4, 4, 4}, 1000), std::vector<TokenId>(kMaxDraft, 4));
}

TEST(Drafter, FollowsTheTextItIsGiven) {
  DraftPolicy policy;
  Drafter drafter(Speculation::kAlways, std::vector<TokenId>{1, 2, 3, 4, 5, 6, 1, 2}, &policy);
  std::vector<TokenId> draft;
  drafter.Accept(3);
  drafter.Draft(2, &draft);
  EXPECT_THAT(draft, ElementsAre(4, 5));
  drafter.Accept(9);  // not as before
  drafter.Draft(2, &draft);
  EXPECT_THAT(draft, IsEmpty());
}

TEST(DraftPolicy, DoesNotDraftBeforeAStepWasMeasured) {
  DraftPolicy policy;
  EXPECT_EQ(policy.DraftLength(16, 15), 0u);
  for (int i = 0; i < 2; ++i) policy.ObserveStep(0.01);
  EXPECT_GT(policy.DraftLength(16, 15), 0u);
  EXPECT_EQ(policy.DraftLength(0, 15), 0u);
  EXPECT_EQ(policy.DraftLength(16, 0), 0u);
}

TEST(DraftPolicy, CostsAreInPlainStepsAndSpreadToTheirNeighbours) {
  DraftPolicy policy;
  for (int i = 0; i < 50; ++i) policy.ObserveStep(0.01);
  for (int i = 0; i < 50; ++i) policy.ObserveBatch(8, 0.025, 8);
  EXPECT_NEAR(policy.Cost(8), 2.5, 0.01);
  EXPECT_GT(policy.Cost(9), policy.Cost(8));
  EXPECT_LT(policy.Cost(2), policy.Cost(8));
}

TEST(DraftPolicy, LearnsHowOftenGuessesComeTrue) {
  DraftPolicy policy;
  for (int i = 0; i < 200; ++i) policy.ObserveGuess(2, i % 4 == 0);
  EXPECT_NEAR(policy.Chance(2), 0.25, 0.1);
  for (int i = 0; i < 200; ++i) policy.ObserveGuess(40, true);
  EXPECT_GT(policy.Chance(16), 0.99);
  EXPECT_GT(policy.Chance(3), policy.Chance(2));
}

/// A machine and a text: `hit` is how often a guess comes true, and a batch costs
/// `fixed` + `each` * tokens steps. Returns the time with drafts in the time without.
double Simulate(double hit, double fixed, double each, int num_tokens) {
  constexpr double kStep = 0.02;
  std::mt19937 random(7);
  std::uniform_real_distribution<double> uniform(0, 1);
  DraftPolicy policy;
  double seconds = 0;
  int tokens = 0;
  std::size_t match = 2;
  while (tokens < num_tokens) {
    const std::size_t length = policy.DraftLength(match, kMaxDraft);
    std::size_t right = 0;
    bool came_true = true;
    do {  // a plain step has a guess too, if only to learn from
      came_true = uniform(random) < hit;
      policy.ObserveGuess(match, came_true);
      match = came_true ? match + 1 : 2;
      if (came_true && right < length) ++right;
    } while (came_true && right < length);
    const double batch = static_cast<double>(length + 1);
    const double cost = length == 0 ? kStep : kStep * (fixed + each * batch);
    seconds += cost;
    if (length == 0) {
      policy.ObserveStep(cost);
    } else {
      policy.ObserveBatch(length + 1, cost, right + 1);
    }
    tokens += static_cast<int>(right) + 1;
  }
  return seconds / (kStep * tokens);
}

TEST(DraftPolicy, GainsWhereTextsRepeat) {
  EXPECT_LT(Simulate(0.97, 1.2, 0.2, 1000), 0.5);
  EXPECT_LT(Simulate(0.9, 1.2, 0.2, 1000), 0.8);
  EXPECT_LT(Simulate(0.99, 3.2, 0.4, 1000), 0.8);  // a batch is dear where a step is cheap
}

TEST(DraftPolicy, NeverLosesMuch) {
  for (const double hit : {0.0, 0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9}) {
    for (const double each : {0.1, 0.3, 1.0}) {
      for (const double fixed : {0.0, 0.5, 1.0, 3.0}) {
        // A token in a batch that costs a whole step can never pay; that is found out by trying.
        EXPECT_LT(Simulate(hit, fixed, each, 300), each < 1 ? 1.03 : 1.05)
            << hit << ", a batch costs " << fixed << " + " << each << " per token";
      }
    }
  }
}

TEST(DraftPolicy, OneStopOfTheMachineIsNotHeldAgainstIt) {
  DraftPolicy policy;
  for (int i = 0; i < 10; ++i) policy.ObserveStep(0.01);
  for (int i = 0; i < 10; ++i) policy.ObserveBatch(8, 0.02, 8);
  policy.ObserveBatch(8, 30, 1);
  policy.ObserveStep(30);
  EXPECT_GT(policy.DraftLength(16, 15), 0u);
  EXPECT_LT(policy.Cost(8), 5);
}

}  // namespace
}  // namespace bittern::runtime
