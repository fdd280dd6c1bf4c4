// SPDX-License-Identifier: Apache-2.0
// The chain as a whole: options and their edges, order of the steps, distribution, determinism.
#include "runtime/sampling/sampler.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

namespace bittern::runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr float kBeyond = std::numeric_limits<float>::infinity();
constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();

/// Everything off but the draw at temperature 1.
SamplerOptions Plain() {
  return {.temperature = 1,
          .top_k = 0,
          .top_p = 1,
          .min_p = 0,
          .repeat_penalty = 1,
          .repeat_last_n = 64,
          .seed = 1};
}

Sampler Make(const SamplerOptions& options) {
  Result<Sampler> sampler = Sampler::Create(options);
  EXPECT_TRUE(sampler.has_value()) << sampler.error().message;
  return *std::move(sampler);
}

std::map<TokenId, int> Count(const SamplerOptions& options, const std::vector<float>& logits,
                             int draws) {
  Sampler sampler = Make(options);
  std::map<TokenId, int> counts;
  for (int i = 0; i < draws; ++i) ++counts[sampler.Sample(logits).value()];
  return counts;
}

/// A fixed bumpy function, without a random generator that might differ elsewhere.
std::vector<float> BumpyLogits(int size) {
  std::vector<float> logits;
  for (int i = 0; i < size; ++i) logits.push_back(static_cast<float>(i * 7919 % 257) / 32);
  return logits;
}

struct BadOption {
  SamplerOptions options;
  std::string names;
};

TEST(Sampler, RefusesWhatIsNotInRangeByName) {
  std::vector<BadOption> bad;
  for (const float value : {kNotANumber, kBeyond, -kBeyond}) {
    bad.push_back({{.temperature = value}, "temperature"});
    bad.push_back({{.top_p = value}, "top_p"});
    bad.push_back({{.min_p = value}, "min_p"});
    bad.push_back({{.repeat_penalty = value}, "repeat_penalty"});
  }
  bad.push_back({{.repeat_penalty = 0}, "repeat_penalty"});
  bad.push_back({{.repeat_penalty = -1}, "repeat_penalty"});
  bad.push_back({{.repeat_last_n = -2}, "repeat_last_n"});
  for (const BadOption& option : bad) {
    const Result<Sampler> sampler = Sampler::Create(option.options);
    ASSERT_FALSE(sampler.has_value()) << option.names;
    EXPECT_EQ(sampler.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(sampler.error().message, HasSubstr(option.names));
    EXPECT_THAT(sampler.error().message, HasSubstr("found"));
  }
}

TEST(Sampler, RefusesLogitsWithoutAFiniteNumber) {
  Sampler sampler = Make(Plain());
  const std::vector<std::vector<float>> hopeless = {
      {}, {kNotANumber}, {-kBeyond, kNotANumber}, {kBeyond, -kBeyond}};
  for (const auto& logits : hopeless) {
    const Result<TokenId> id = sampler.Sample(logits);
    ASSERT_FALSE(id.has_value());
    EXPECT_EQ(id.error().code, ErrorCode::kInternal);
  }
}

TEST(Sampler, NeverPicksNanOrMinusInfinity) {
  const std::vector<float> logits = {kNotANumber, 0, -kBeyond, -100, kNotANumber};
  SamplerOptions greedy = Plain();
  greedy.temperature = 0;
  EXPECT_EQ(Make(greedy).Sample(logits).value(), 1);
  EXPECT_THAT(Count(Plain(), logits, 200), ElementsAre(testing::Pair(1, 200)));
}

TEST(Sampler, GreedyIsTheLowestIdAmongEqualMaxima) {
  for (const float temperature : {0.0f, -1.0f}) {
    SamplerOptions options;
    options.temperature = temperature;
    EXPECT_EQ(Make(options).Sample(std::vector<float>{1, 5, 5, 2}).value(), 1);
  }
}

TEST(Sampler, OneCandidateLeftIsGreedyWhateverLeavesIt) {
  const std::vector<float> logits = {1, 2, 5, 4};
  SamplerOptions top_k = Plain(), top_p = Plain(), min_p = Plain(), cold = Plain();
  top_k.top_k = 1;
  top_p.top_p = 0;
  min_p.min_p = 2;
  cold.temperature = 1e-30f;
  for (const SamplerOptions& options : {top_k, top_p, min_p, cold}) {
    EXPECT_THAT(Count(options, logits, 100), ElementsAre(testing::Pair(2, 100)));
  }
}

TEST(Sampler, TopKBeyondTheVocabularyKeepsAll) {
  SamplerOptions options = Plain();
  options.top_k = std::numeric_limits<int>::max();
  EXPECT_EQ(Count(options, {0, 0, 0}, 300).size(), 3u);
  options.top_k = -1;
  EXPECT_EQ(Count(options, {0, 0, 0}, 300).size(), 3u);
}

TEST(Sampler, TruncatesBeforeTemperature) {
  // At temperature 1 the second token has 0.05 of the first one's probability and min_p drops
  // it; a chain that heated first would keep it.
  SamplerOptions options = Plain();
  options.min_p = 0.06f;
  options.temperature = 100;
  EXPECT_EQ(Count(options, {3, 0}, 500).size(), 1u);
}

TEST(Sampler, PenalisesBeforeTruncation) {
  SamplerOptions options = Plain();
  options.top_k = 1;
  options.repeat_penalty = 2;
  Sampler sampler = Make(options);
  sampler.Accept(0);
  EXPECT_EQ(sampler.Sample(std::vector<float>{5, 4}).value(), 1);
}

TEST(Sampler, ForgetsTokensOlderThanTheWindow) {
  SamplerOptions options = Plain();
  options.temperature = 0;
  options.repeat_penalty = 2;
  options.repeat_last_n = 2;
  Sampler sampler = Make(options);
  const std::vector<float> logits = {5, 4, 3};
  sampler.Accept(0);
  sampler.Accept(2);
  EXPECT_EQ(sampler.Sample(logits).value(), 1);
  sampler.Accept(2);
  EXPECT_EQ(sampler.Sample(logits).value(), 0);
}

TEST(Sampler, WindowOfMinusOneIsEverythingAndOfZeroNothing) {
  for (const int window : {-1, 0}) {
    SamplerOptions options = Plain();
    options.temperature = 0;
    options.repeat_penalty = 2;
    options.repeat_last_n = window;
    Sampler sampler = Make(options);
    sampler.Accept(0);
    for (int i = 0; i < 5000; ++i) sampler.Accept(2);
    EXPECT_EQ(sampler.Sample(std::vector<float>{5, 4, 3}).value(), window == 0 ? 0 : 1);
  }
}

TEST(Sampler, DrawsInProportionToProbability) {
  const std::vector<float> logits = {0, 1, 2, -1, 0.5f};
  constexpr int kDraws = 50'000;
  double sum = 0;
  for (const float logit : logits) sum += std::exp(double{logit});
  const std::map<TokenId, int> counts = Count(Plain(), logits, kDraws);
  double chi_square = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const double expected = kDraws * std::exp(double{logits[i]}) / sum;
    const auto found = counts.find(static_cast<TokenId>(i));
    const double off = (found == counts.end() ? 0 : found->second) - expected;
    chi_square += off * off / expected;
  }
  // 4 degrees of freedom: 23.5 is passed by chance once in ten thousand seeds; the seed is fixed.
  EXPECT_LT(chi_square, 23.5);
}

TEST(Sampler, LeavesLogitsAlone) {
  const std::vector<float> logits = BumpyLogits(100);
  SamplerOptions options;
  options.repeat_penalty = 1.3f;
  Sampler sampler = Make(options);
  sampler.Accept(3);
  const std::vector<float> copy = logits;
  ASSERT_TRUE(sampler.Sample(logits).has_value());
  EXPECT_EQ(logits, copy);
}

TEST(Sampler, SeedDecidesTheIds) {
  // As a Python program of the same chain gives them; any other value on any machine breaks
  // "same seed, same text".
  SamplerOptions options;
  options.seed = 42;
  options.repeat_penalty = 1.1f;
  Sampler sampler = Make(options);
  const std::vector<float> logits = BumpyLogits(1000);
  std::vector<TokenId> ids;
  for (int i = 0; i < 12; ++i) {
    ids.push_back(sampler.Sample(logits).value());
    sampler.Accept(ids.back());
  }
  EXPECT_THAT(ids, ElementsAre(905, 332, 755, 664, 423, 632, 241, 118, 316, 300, 498, 134));
}

TEST(Sampler, DrawsASeedOfItsOwnAndTellsIt) {
  Sampler first = Make({}), second = Make({});
  EXPECT_NE(first.seed(), 0xffffffffu);
  // Two draws of 32 bits agree once in four billion runs.
  EXPECT_NE(first.seed(), second.seed());
  SamplerOptions again;
  again.seed = first.seed();
  Sampler repeated = Make(again);
  const std::vector<float> logits = BumpyLogits(500);
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(first.Sample(logits).value(), repeated.Sample(logits).value());
  }
}

}  // namespace
}  // namespace bittern::runtime
