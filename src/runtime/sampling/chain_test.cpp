// SPDX-License-Identifier: Apache-2.0
// Facts that tests/sampler_oracle.py does not see: the logits that a chain asks for suffice, loops
// are told, logprobs are those of the definition, and options are refused by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "runtime/sampling/logprobs.hpp"
#include "runtime/sampling/loop_detector.hpp"
#include "runtime/sampling/sampler.hpp"

namespace bittern::runtime {
namespace {

using testing::HasSubstr;

/// The logits that a request is about, by its definition.
model::CandidateLogits Requested(const std::vector<float>& logits,
                                 const model::CandidateRequest& request) {
  std::vector<float> sorted = logits;
  std::ranges::sort(sorted, std::greater());
  const float least = request.count == 0 ? sorted[0] - request.within
                                         : sorted[std::min(request.count, sorted.size()) - 1];
  model::CandidateLogits found;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] < least) continue;
    found.ids.push_back(static_cast<TokenId>(i));
    found.logits.push_back(logits[i]);
  }
  return found;
}

SamplerOptions RandomChain(std::mt19937* random) {
  const auto chance = [&] { return (*random)() % 3 == 0; };
  const auto number = [&](float least, float most) {
    return std::uniform_real_distribution<float>(least, most)(*random);
  };
  SamplerOptions o = {.temperature = chance() ? 0 : number(0.3f, 2),
                      .top_k = chance() ? 0 : static_cast<int>(1 + (*random)() % 20),
                      .top_p = chance() ? 1 : number(0.2f, 1),
                      .min_p = chance() ? 0 : number(0, 0.4f),
                      .seed = static_cast<std::uint32_t>((*random)() % 1000)};
  if (chance()) o.repeat_penalty = number(0.7f, 1.5f);
  if (chance()) o.frequency_penalty = number(-0.3f, 1);
  if (chance()) o.presence_penalty = number(-0.3f, 1);
  if (chance()) o.repeat_last_n = 5;
  if (chance()) o.typical_p = number(0.3f, 1);
  if (chance()) o.xtc_probability = 0.5f;
  if (chance()) o.top_n_sigma = number(0.5f, 2);
  if (chance()) o.dynatemp_range = 0.4f;
  if (chance()) o.min_keep = 3;
  if (chance()) o.dry_multiplier = 0.5f;
  if (chance()) o.logit_bias = {{3, number(-4, 1)}, {7, -std::numeric_limits<float>::infinity()}};
  if (chance()) std::ranges::shuffle(o.samplers, *random);
  if (chance()) o.samplers.push_back(SamplerStep::kAdaptiveP), o.adaptive_target = 0.4f;
  return o;
}

TEST(SamplerChain, TheLogitsItAsksForSuffice) {
  std::mt19937 random(5);
  int asked = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    const SamplerOptions options = RandomChain(&random);
    Sampler whole = Sampler::Create(options).value(), part = Sampler::Create(options).value();
    for (int step = 0; step < 4; ++step) {
      std::vector<float> logits(60);
      // Quarters, so that equal logits are common.
      for (float& x : logits) x = static_cast<float>(static_cast<int>(random() % 60) - 30) / 4;
      const auto request = part.Request();
      const TokenId id = whole.Sample(logits).value();
      if (request) ++asked;
      const TokenId again = request ? part.SampleFrom(Requested(logits, *request)).value()
                                    : part.Sample(logits).value();
      ASSERT_EQ(again, id) << "trial " << trial << ", step " << step;
      whole.Accept(id);
      part.Accept(id);
    }
  }
  EXPECT_GT(asked, 1000);
}

TEST(SamplerChain, HoldsForTokensThatAreAcceptedLater) {
  SamplerOptions options = {.top_k = 3, .repeat_penalty = 1.2f};
  Sampler sampler = Sampler::Create(options).value();
  sampler.Accept(1);
  EXPECT_EQ(sampler.Request(2)->count, 1u + 2 + 3);
  options.presence_penalty = -1;
  EXPECT_FALSE(Sampler::Create(options).value().Request(2).has_value());
}

TEST(SamplerChain, ABiasThatForbidsAllIsAnError) {
  SamplerOptions options;
  for (TokenId id = 0; id < 3; ++id) {
    options.logit_bias.push_back({id, -std::numeric_limits<float>::infinity()});
  }
  const auto id = Sampler::Create(options).value().Sample(std::vector<float>{1, 2, 3});
  ASSERT_FALSE(id.has_value());
  EXPECT_THAT(id.error().message, HasSubstr("logit_bias"));
}

TEST(SamplerChain, RefusesByName) {
  const std::pair<SamplerOptions, const char*> bad[] = {
      {{.dry_base = 0.5f}, "dry_base"},
      {{.dry_penalty_last_n = -2}, "dry_penalty_last_n"},
      {{.mirostat = 3}, "mirostat"},
      {{.adaptive_decay = 1}, "adaptive_decay"},
      {{.min_keep = -1}, "min_keep"},
      {{.typical_p = std::nanf("")}, "typical_p"},
      {{.logit_bias = {{-1, 0}}}, "logit_bias"},
      {{.logit_bias = {{1, std::nanf("")}}}, "logit_bias"}};
  for (const auto& [options, name] : bad) {
    const auto sampler = Sampler::Create(options);
    ASSERT_FALSE(sampler.has_value()) << name;
    EXPECT_THAT(sampler.error().message, HasSubstr(name));
  }
  EXPECT_FALSE(ParseSamplers("top_k;tops").has_value());
  EXPECT_FALSE(ParseSamplerLetters("kz").has_value());
  EXPECT_EQ(ParseSamplerLetters("edskypmxt").value(), DefaultSamplers());
  EXPECT_EQ(ParseSamplers("penalties;dry;top_n_sigma;top-k;typical;nucleus;min_p;xtc;temp").value(),
            DefaultSamplers());
}

/// By the definition, without memory.
bool Loops(const std::vector<TokenId>& ids) {
  for (std::size_t period = 1; period <= LoopDetector::kLongest; ++period) {
    std::size_t covered = period;
    while (covered < ids.size() &&
           ids[ids.size() - 1 - covered] == ids[ids.size() - 1 - covered + period]) {
      ++covered;
    }
    if (covered >= LoopDetector::kTimes * period && covered >= LoopDetector::kLeast &&
        covered <= ids.size()) {
      return true;
    }
  }
  return false;
}

TEST(LoopDetector, TellsWhatItsDefinitionSays) {
  std::mt19937 random(3);
  int loops = 0;
  for (int trial = 0; trial < 40; ++trial) {
    LoopDetector detector;
    std::vector<TokenId> ids;
    while (ids.size() < 600) {
      std::vector<TokenId> passage(1 + random() % (trial < 20 ? 6 : 150));
      for (TokenId& id : passage) id = static_cast<TokenId>(random() % 3);
      const std::size_t times = 1 + random() % (trial % 2 == 0 ? 3 : 40);
      for (std::size_t i = 0; i < times; ++i) {
        for (const TokenId id : passage) {
          ids.push_back(id);
          const bool told = detector.Push(id);
          loops += told ? 1 : 0;
          ASSERT_EQ(told, Loops(ids)) << "trial " << trial << ", " << ids.size() << " tokens";
        }
        if (ids.size() > 900) break;
      }
    }
  }
  EXPECT_GT(loops, 100);
}

TEST(Logprobs, AreTheLogOfTheSoftmax) {
  const std::vector<float> logits = {1, 3, 3, -2};
  const double total = std::exp(1.0) + 2 * std::exp(3.0) + std::exp(-2.0);
  const TokenLogprobs found = LogprobsOf(logits, 3, 3);
  EXPECT_EQ(found.picked.id, 3);
  EXPECT_NEAR(found.picked.logprob, -2 - std::log(total), 1e-6);
  ASSERT_EQ(found.top.size(), 3u);
  EXPECT_EQ(found.top[0].id, 1);
  EXPECT_EQ(found.top[1].id, 2);
  EXPECT_EQ(found.top[2].id, 0);
  EXPECT_NEAR(found.top[0].logprob, 3 - std::log(total), 1e-6);
  EXPECT_TRUE(LogprobsOf(logits, 0, 0).top.empty());
  EXPECT_EQ(LogprobsOf(logits, 0, 9).top.size(), 4u);
}

TEST(Logprobs, OfTheDrawAreBestFirstWithoutWhatCannotBeDrawn) {
  const std::vector<TokenProbability> draw = {{7, 0.25}, {5, 0.0}, {9, 0.5}, {2, 0.25}};
  const std::vector<TokenLogprob> found = LogprobsOfDraw(draw, 7, 9);
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[0].id, 7);
  EXPECT_NEAR(found[0].logprob, std::log(0.25), 1e-6);
  EXPECT_EQ(found[1].id, 9);
  EXPECT_EQ(found[2].id, 2);
  EXPECT_EQ(found[3].id, 7);
  EXPECT_EQ(LogprobsOfDraw(draw, 9, 1).size(), 2u);
  EXPECT_EQ(LogprobsOfDraw(draw, 9, 0).size(), 1u);
  EXPECT_TRUE(std::isinf(LogprobsOfDraw(draw, 5, 0)[0].logprob));
}

}  // namespace
}  // namespace bittern::runtime
