// SPDX-License-Identifier: Apache-2.0
#include "doctor/probe.hpp"

#include <gtest/gtest.h>

namespace bittern::doctor {
namespace {

formats::Checkpoint Open(const char* name) {
  return formats::Checkpoint::Open(std::string(BITTERN_SOURCE_DIR) + "/models/" + name).value();
}

/// Three texts of ten tokens in ten bytes at these costs.
Probe MakeProbe(double a, double b, double c) {
  Probe probe;
  for (std::size_t i = 0; i < kNumPlainTexts; ++i) {
    probe.texts[i] = {std::vector<double>(10, i == 0 ? a : i == 1 ? b : c), 10};
  }
  return probe;
}

TEST(Gain, CountsOnTheTextThatIsKnownBest) {
  EXPECT_TRUE(GainOf(MakeProbe(5, 6, 7), MakeProbe(4, 6, 7)).clear);
  EXPECT_DOUBLE_EQ(GainOf(MakeProbe(5, 6, 7), MakeProbe(4, 6, 7)).nats, 1);
  // Better where the model knows little, worse where it knows most: no gain.
  EXPECT_FALSE(GainOf(MakeProbe(1, 6, 7), MakeProbe(2, 5, 6)).clear);
  EXPECT_FALSE(GainOf(MakeProbe(2, 6, 7), MakeProbe(2, 6, 7)).clear);
  EXPECT_FALSE(GainOf(MakeProbe(2, 6, 7), MakeProbe(1.99, 6, 7)).clear);
  // The answers are missing where a model has no chat form.
  EXPECT_TRUE(MakeProbe(5, 6, 7).texts[kNumPlainTexts].nats.empty());
  EXPECT_EQ(MakeProbe(5, 6, 7).best(), 0u);
}

TEST(Gain, ChanceIsNoGain) {
  Probe a = MakeProbe(2, 6, 7), b = a;
  b.texts[0].nats[3] = 0;  // one token of ten
  EXPECT_FALSE(GainOf(a, b).clear);
}

TEST(Probe, AModelKnowsItsOwnKindOfTextBest) {
  const Probe kjv = RunProbe(Open("kjv-5m-i2s.gguf"), {.order = true}).value();
  EXPECT_EQ(kjv.best(), 0u);
  EXPECT_GT(kjv.order_gain, 1.6);
  const Probe pocket = RunProbe(Open("pocket-8m-i2s.gguf"), {.order = true}).value();
  EXPECT_EQ(pocket.best(), 1u);
  EXPECT_GT(pocket.order_gain, 1.6);
}

TEST(Probe, AModelThatTalksKnowsAnswersBest) {
  const Probe pocket = RunProbe(Open("pocket-3-i2s.gguf"), {.order = true}).value();
  EXPECT_EQ(pocket.best(), kNumPlainTexts);
  EXPECT_LT(pocket.nats(), 0.5);
  EXPECT_GT(pocket.order_gain, 1.6);
}

TEST(Probe, AWrongReadingMakesNoSense) {
  auto file = Open("kjv-5m-i2s.gguf");
  ASSERT_TRUE(MapCodes({2, 1, 0, 3})(&file));
  const Probe probe = RunProbe(std::move(file), {.order = true}).value();
  EXPECT_GT(probe.nats(), 0.9 * probe.uniform);
}

}  // namespace
}  // namespace bittern::doctor
