// SPDX-License-Identifier: Apache-2.0
#include "runtime/sampling/sampling_defaults.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace bittern::runtime {
namespace {

SamplerOptions Take(const formats::Metadata& metadata, Decisions* decisions) {
  SamplerOptions options;
  for (const SamplingKey& key : SamplingKeys()) {
    TakeSamplingDefault(metadata, key, &options, decisions);
  }
  return options;
}

formats::Metadata With(std::initializer_list<const char*> overrides) {
  formats::Metadata metadata;
  for (const char* text : overrides) EXPECT_TRUE(metadata.Override(text).has_value()) << text;
  return metadata;
}

TEST(SamplingDefaults, EveryKeySetsItsOption) {
  Decisions decisions;
  const SamplerOptions options = Take(
      With({"general.sampling.temp=float:0.25", "general.sampling.top_k=int:7",
            "general.sampling.top_p=float:0.5", "general.sampling.min_p=float:0.125",
            "general.sampling.penalty_last_n=int:-1", "general.sampling.penalty_repeat=float:1.5"}),
      &decisions);
  EXPECT_EQ(options.temperature, 0.25f);
  EXPECT_EQ(options.top_k, 7);
  EXPECT_EQ(options.top_p, 0.5f);
  EXPECT_EQ(options.min_p, 0.125f);
  EXPECT_EQ(options.repeat_last_n, -1);
  EXPECT_EQ(options.repeat_penalty, 1.5f);
  ASSERT_EQ(decisions.size(), 6u);
  EXPECT_EQ(decisions[0].subject, "temperature");
  EXPECT_EQ(decisions[0].choice, "0.25");
  EXPECT_FALSE(decisions[0].notable);
}

TEST(SamplingDefaults, AFileWithoutThemChangesNothing) {
  Decisions decisions;
  const SamplerOptions options = Take(With({"general.name=str:x"}), &decisions);
  EXPECT_EQ(options.temperature, SamplerOptions().temperature);
  EXPECT_EQ(options.top_k, SamplerOptions().top_k);
  EXPECT_TRUE(decisions.empty());
}

TEST(SamplingDefaults, WhatMakesNoSenseIsLeftAloneAndToldOf) {
  for (const char* bad :
       {"general.sampling.temp=str:warm", "general.sampling.top_k=float:1.5",
        "general.sampling.top_k=float:1e30", "general.sampling.penalty_repeat=float:0",
        "general.sampling.penalty_last_n=int:-2"}) {
    Decisions decisions;
    const SamplerOptions options = Take(With({bad}), &decisions);
    const SamplerOptions expected;
    EXPECT_EQ(options.temperature, expected.temperature) << bad;
    EXPECT_EQ(options.top_k, expected.top_k) << bad;
    EXPECT_EQ(options.top_p, expected.top_p) << bad;
    EXPECT_EQ(options.repeat_penalty, expected.repeat_penalty) << bad;
    EXPECT_EQ(options.repeat_last_n, expected.repeat_last_n) << bad;
    ASSERT_EQ(decisions.size(), 1u) << bad;
    EXPECT_TRUE(decisions[0].notable) << bad;
  }
}

TEST(SamplingDefaults, ANumberThatIsNoneIsLeftAlone) {
  formats::Metadata metadata;
  ASSERT_TRUE(metadata.AddFloat("general.sampling.temp", NAN));
  ASSERT_TRUE(metadata.AddFloat("general.sampling.top_k", NAN));
  Decisions decisions;
  const SamplerOptions options = Take(metadata, &decisions);
  EXPECT_EQ(options.temperature, SamplerOptions().temperature);
  EXPECT_EQ(options.top_k, SamplerOptions().top_k);
  EXPECT_EQ(decisions.size(), 2u);
}

}  // namespace
}  // namespace bittern::runtime
