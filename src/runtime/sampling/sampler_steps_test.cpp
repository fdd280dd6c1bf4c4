// SPDX-License-Identifier: Apache-2.0
// Each step against a brute-force twin that follows the definition with sorted vectors and the C
// library's exp, on random lists with many equal logits and on the edges.
#include "runtime/sampling/sampler_steps.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>

#include "runtime/sampling/penalties.hpp"

namespace bittern::runtime {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kLargest = std::numeric_limits<float>::max();

Candidates FromLogits(const std::vector<float>& logits) {
  Candidates candidates;
  for (const float logit : logits) {
    candidates.push_back({static_cast<tokenizer::TokenId>(candidates.size()), logit});
  }
  return candidates;
}

std::vector<int> Ids(const Candidates& candidates) {
  std::vector<int> ids;
  for (const Candidate& c : candidates) ids.push_back(c.id);
  return ids;
}

std::vector<float> Logits(const Candidates& candidates) {
  std::vector<float> logits;
  for (const Candidate& c : candidates) logits.push_back(c.logit);
  return logits;
}

/// Halves, so that equal logits are common.
std::vector<float> RandomLogits(std::mt19937* random, std::size_t size) {
  std::uniform_int_distribution<int> halves(-12, 12);
  std::vector<float> logits(size);
  for (float& logit : logits) logit = static_cast<float>(halves(*random)) / 2;
  return logits;
}

Candidates Sorted(Candidates candidates) {
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return std::pair(-a.logit, a.id) < std::pair(-b.logit, b.id);
  });
  return candidates;
}

std::vector<double> Softmax(const Candidates& candidates) {
  double largest = -1e300, sum = 0;
  std::vector<double> p;
  for (const Candidate& c : candidates) largest = std::max(largest, double{c.logit});
  for (const Candidate& c : candidates) sum += p.emplace_back(std::exp(double{c.logit} - largest));
  for (double& x : p) x /= sum;
  return p;
}

TEST(Argmax, IsTheFirstOfTheHighest) {
  EXPECT_EQ(Argmax(std::vector<float>{1, 3, 2, 3}), 1);
  EXPECT_EQ(Argmax(std::vector<float>{kNan, -kLargest, kNan}), 1);
  EXPECT_EQ(Argmax(std::vector<float>{0, kInfinity}), 1);
  EXPECT_EQ(Argmax(std::vector<float>{kNan, -kInfinity}), -1);
  EXPECT_EQ(Argmax({}), -1);
}

TEST(CollectCandidates, DropsWhatIsNotANumberAndCapsInfinity) {
  Candidates candidates = FromLogits({9, 9, 9});  // leftovers of an earlier token
  CollectCandidates(std::vector<float>{1, kNan, -kInfinity, kInfinity, -kLargest}, &candidates);
  EXPECT_THAT(Ids(candidates), ElementsAre(0, 3, 4));
  EXPECT_THAT(Logits(candidates), ElementsAre(1, kLargest, -kLargest));
}

TEST(ApplyRepeatPenalty, DividesPositiveAndMultipliesNegativeOnce) {
  Candidates candidates = FromLogits({4, -4, 0, 4, -4});
  const std::vector<tokenizer::TokenId> recent = {1, 0, 1, 0, 2};
  ApplyPenalties(recent, {.repeat = 2}, &candidates);
  EXPECT_THAT(Logits(candidates), ElementsAre(2, -8, 0, 4, -4));
}

TEST(ApplyRepeatPenalty, IgnoresTokensThatAreNotCandidates) {
  Candidates candidates = {{3, 1.0f}, {7, 1.0f}};
  const std::vector<tokenizer::TokenId> recent = {-1, 0, 5, 7, 100};
  ApplyPenalties(recent, {.repeat = 4}, &candidates);
  EXPECT_THAT(Logits(candidates), ElementsAre(1, 0.25f));
}

TEST(ApplyRepeatPenalty, StaysFinite) {
  Candidates candidates = FromLogits({kLargest, -kLargest});
  const std::vector<tokenizer::TokenId> recent = {0, 1};
  ApplyPenalties(recent, {.repeat = 0.25f}, &candidates);
  ApplyPenalties(recent, {.repeat = 1e30f}, &candidates);
  for (const float logit : Logits(candidates)) EXPECT_TRUE(std::isfinite(logit));
}

TEST(Best, IsTheLowestIdAmongEquals) {
  EXPECT_EQ(Best(FromLogits({1, 3, 2, 3})).id, 1);
  EXPECT_EQ(Best({{9, 5.0f}, {4, 5.0f}, {6, 5.0f}}).id, 4);
  EXPECT_EQ(Best(FromLogits({-kLargest})).id, 0);
}

TEST(KeepTopK, EqualsASortForEveryK) {
  std::mt19937 random(1);
  for (const std::size_t size : {1u, 2u, 7u, 64u, 1000u}) {
    const Candidates all = FromLogits(RandomLogits(&random, size));
    const std::vector<int> sorted = Ids(Sorted(all));
    for (std::size_t k = 1; k <= size + 2; k += size > 100 ? 37 : 1) {
      Candidates kept = all;
      KeepTopK(k, &kept);
      const auto expected =
          std::vector<int>(sorted.begin(), sorted.begin() + static_cast<long>(std::min(k, size)));
      EXPECT_EQ(Ids(kept), expected) << "k = " << k << " of " << size;
    }
  }
}

TEST(KeepTopP, EqualsTheDefinition) {
  std::mt19937 random(2);
  for (int round = 0; round < 200; ++round) {
    const std::size_t size = round % 5 == 0 ? 700 : 1 + static_cast<std::size_t>(round) % 40;
    const Candidates all = FromLogits(RandomLogits(&random, size));
    // Not a sum of few probabilities, so that rounding cannot decide.
    const double p = std::uniform_real_distribution<double>(0.001, 0.999)(random);
    const Candidates sorted = Sorted(all);
    const std::vector<double> probability = Softmax(sorted);
    double sum = 0;
    std::vector<int> expected;
    for (std::size_t i = 0; i < size && (i == 0 || sum < p); ++i) {
      expected.push_back(sorted[i].id);
      sum += probability[i];
    }
    Candidates kept = all;
    KeepTopP(p, &kept);
    EXPECT_EQ(Ids(kept), expected) << "p = " << p << ", size " << size;
  }
}

TEST(KeepTopP, KeepsAtLeastOneAndAtMostAll) {
  const Candidates all = FromLogits({1, 2, 2, -50});
  for (const double p : {-1.0, 0.0, 1e-300}) {
    Candidates kept = all;
    KeepTopP(p, &kept);
    EXPECT_THAT(Ids(kept), ElementsAre(1)) << p;
  }
  Candidates kept = all;
  KeepTopP(1.5, &kept);
  EXPECT_THAT(Ids(kept), ElementsAre(1, 2, 0, 3));
}

TEST(KeepMinP, EqualsTheDefinition) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    const Candidates all = FromLogits(RandomLogits(&random, 1 + static_cast<std::size_t>(round)));
    const double p = std::uniform_real_distribution<double>(0.0, 1.0)(random);
    const std::vector<double> probability = Softmax(all);
    const double largest = *std::max_element(probability.begin(), probability.end());
    std::vector<int> expected;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (probability[i] >= p * largest) expected.push_back(all[i].id);
    }
    Candidates kept = all;
    KeepMinP(p, &kept);
    EXPECT_EQ(Ids(kept), expected) << "p = " << p;
  }
}

TEST(KeepMinP, KeepsTheBestWhateverPIs) {
  for (const double p : {1.0, 1.5, 1e300}) {
    Candidates kept = FromLogits({1, 3, 2, 3});
    KeepMinP(p, &kept);
    EXPECT_THAT(Ids(kept), ElementsAre(1, 3)) << p;
  }
}

TEST(Draw, WalksTheRunningSum) {
  // Probabilities 1/4, 1/2, 1/4.
  const float half = static_cast<float>(std::log(0.5));
  const Candidates candidates = {{7, half}, {3, 0.0f}, {5, half}};
  EXPECT_EQ(Draw(1, 0.0, candidates), 7);
  EXPECT_EQ(Draw(1, 0.2499, candidates), 7);
  EXPECT_EQ(Draw(1, 0.2501, candidates), 3);
  EXPECT_EQ(Draw(1, 0.7499, candidates), 3);
  EXPECT_EQ(Draw(1, 0.7501, candidates), 5);
  EXPECT_EQ(Draw(1, ToUniform(~std::uint64_t{0}), candidates), 5);
}

TEST(Draw, NeverPicksWhatHasNoWeight) {
  const Candidates candidates = {{0, -kLargest}, {1, kLargest}, {2, -kLargest}};
  for (const double uniform : {0.0, 0.5, ToUniform(~std::uint64_t{0})}) {
    EXPECT_EQ(Draw(1, uniform, candidates), 1) << uniform;
  }
}

TEST(Draw, TemperatureSharpensAndFlattens) {
  const Candidates candidates = FromLogits({0, 1});
  // P(first) = 1 / (1 + exp(1 / t)).
  for (const double t : {0.25, 1.0, 4.0, 1000.0}) {
    const double p = 1 / (1 + std::exp(1 / t));
    EXPECT_EQ(Draw(t, p - 1e-9, candidates), 0) << t;
    EXPECT_EQ(Draw(t, p + 1e-9, candidates), 1) << t;
  }
  EXPECT_EQ(Draw(1e-45, 0.0, candidates), 1);
}

TEST(NextRandom, IsSplitMix64) {
  // First outputs for seed 1234567, as published with the generator's reference code.
  std::uint64_t state = 1234567;
  EXPECT_EQ(NextRandom(&state), 6457827717110365317u);
  EXPECT_EQ(NextRandom(&state), 3203168211198807973u);
  EXPECT_EQ(NextRandom(&state), 9817491932198370423u);
}

TEST(ToUniform, StaysBelowOne) {
  EXPECT_EQ(ToUniform(0), 0.0);
  EXPECT_EQ(ToUniform(std::uint64_t{1} << 63), 0.5);
  EXPECT_LT(ToUniform(~std::uint64_t{0}), 1.0);
}

}  // namespace
}  // namespace bittern::runtime
