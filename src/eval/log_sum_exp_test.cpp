// SPDX-License-Identifier: Apache-2.0
#include "eval/log_sum_exp.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace bittern::eval {
namespace {

/// The obviously right twin.
double Slow(const std::vector<float>& logits) {
  long double largest = logits[0], sum = 0;
  for (const float x : logits) largest = std::max<long double>(largest, x);
  for (const float x : logits) sum += std::exp(x - largest);
  return static_cast<double>(largest + std::log(sum));
}

TEST(LogSumExp, EqualsTheTextbookForAllLengths) {
  std::mt19937 random(1);
  for (int size = 1; size < 70; ++size) {
    for (const float spread : {0.01f, 1.0f, 30.0f, 800.0f, 1e30f}) {
      std::normal_distribution<float> normal(3, spread);
      std::vector<float> logits(size);
      for (float& x : logits) x = normal(random);
      const double expected = Slow(logits);
      EXPECT_NEAR(LogSumExp(logits), expected, 1e-9 * std::max(1.0, std::abs(expected)));
    }
  }
}

TEST(LogSumExp, ManyEqualLogits) {
  EXPECT_NEAR(LogSumExp(std::vector<float>(128256, -5.0f)), std::log(128256.0) - 5, 1e-9);
}

TEST(ScoreOf, ProbabilitiesAddUpToOne) {
  const std::vector<float> logits = {1, 2, -3, 0.5, 2};
  double sum = 0;
  for (int token = 0; token < 5; ++token) sum += std::exp(-ScoreOf(logits, token).nats);
  EXPECT_NEAR(sum, 1, 1e-9);
}

TEST(ScoreOf, TheFirstOfEqualsIsTheBest) {
  const std::vector<float> logits = {1, 2, -3, 0.5, 2};
  EXPECT_TRUE(ScoreOf(logits, 1).best);
  EXPECT_FALSE(ScoreOf(logits, 4).best);
  EXPECT_FALSE(ScoreOf(logits, 2).best);
}

TEST(ScoreOf, ACertainTokenCostsNothing) {
  const std::vector<float> logits = {0, 1e30f};
  EXPECT_EQ(ScoreOf(logits, 1).nats, 0);
}

TEST(ExpectedNats, IsTheMeanOfWhatTokensCost) {
  const std::vector<float> logits = {1, 2, -3, 0.5, 2,
                                     0, 7, -1, 3,   2.5};  // more than one round of lanes
  double mean = 0;
  for (int token = 0; token < 10; ++token) {
    const double nats = ScoreOf(logits, token).nats;
    mean += std::exp(-nats) * nats;
  }
  EXPECT_NEAR(ExpectedNats(logits), mean, 1e-9);
  const std::vector<float> flat(1000, 5.0f), sure = {0, 1e30f};
  EXPECT_NEAR(ExpectedNats(flat), std::log(1000), 1e-9);
  EXPECT_NEAR(ExpectedNats(sure), 0, 1e-9);
}

}  // namespace
}  // namespace bittern::eval
