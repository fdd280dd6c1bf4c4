// SPDX-License-Identifier: Apache-2.0
// The meaning of weight_scale, by config.json and by the values of the scales.
#include "formats/hf/hf_scales.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace bittern::formats {
namespace {

using ::testing::HasSubstr;

const std::vector<float> kSmall = {0.02f, 0.1f}, kMiddle = {1.2f, 3.0f}, kLarge = {20, 90};

HfConfig Config(bool has_quantization, std::optional<std::string> linear_class) {
  HfConfig config;
  config.architecture = "bitnet-b1.58";
  config.has_quantization = has_quantization;
  config.linear_class = std::move(linear_class);
  return config;
}

void Expect(const HfScales& scales, bool multiplies, bool notable) {
  EXPECT_EQ(scales.multiplies, multiplies) << scales.decision.reason;
  EXPECT_EQ(scales.decision.choice, multiplies ? "multiplies" : "divides");
  EXPECT_EQ(scales.decision.notable, notable) << scales.decision.reason;
  EXPECT_FALSE(scales.decision.reason.empty());
}

TEST(HfScales, TheLinearClassIsObeyed) {
  for (const auto* scales : {&kMiddle, &kSmall}) {
    Expect(ChooseHfScales(Config(true, "autobitlinear"), *scales), true, false);
  }
  for (const auto* scales : {&kMiddle, &kLarge}) {
    Expect(ChooseHfScales(Config(true, "bitlinear"), *scales), false, false);
  }
  const auto odd = ChooseHfScales(Config(true, "bitlinear"), kSmall);
  Expect(odd, false, true);
  EXPECT_THAT(odd.decision.reason, HasSubstr("correct it (\"autobitlinear\")"));
  Expect(ChooseHfScales(Config(true, "autobitlinear"), kLarge), true, true);
}

TEST(HfScales, SilentConfigurationsGoByTheSizeOfTheScales) {
  for (const bool has_quantization : {true, false}) {
    SCOPED_TRACE(has_quantization);
    const HfConfig config = Config(has_quantization, std::nullopt);
    Expect(ChooseHfScales(config, kSmall), true, true);
    Expect(ChooseHfScales(config, kMiddle), false, true);
    // Falcon's files say no linear_class, and their scales agree with the default.
    Expect(ChooseHfScales(config, kLarge), false, !has_quantization);
  }
}

TEST(HfScales, The2B4TWithoutQuantizationConfigMultiplies) {
  HfConfig config = Config(false, std::nullopt);
  config.num_layers = 30;
  config.hidden_size = 2560;
  config.intermediate_size = 6912;
  config.vocab_size = 128256;
  Expect(ChooseHfScales(config, kMiddle), true, true);
  config.has_quantization = true;  // and no linear_class: transformers divides
  Expect(ChooseHfScales(config, kMiddle), false, true);
}

TEST(HfScales, DamagedScalesAreNoEvidence) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const HfConfig config = Config(false, std::nullopt);
  for (const std::vector<float>& scales :
       {std::vector<float>{}, {nan}, {0.02f, nan}, {0.02f, 0}, {0.02f, -0.02f}, {20, nan}}) {
    Expect(ChooseHfScales(config, scales), false, true);
  }
}

}  // namespace
}  // namespace bittern::formats
