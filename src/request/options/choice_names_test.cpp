// SPDX-License-Identifier: Apache-2.0
#include "request/options/choice_names.hpp"

#include <gtest/gtest.h>

namespace bittern::request {
namespace {

TEST(ChoiceNames, GiveTheirValuesAndElseTheDefault) {
  EXPECT_EQ(ChoiceByName(kHeadModes, "screened"), model::HeadMode::kScreened);
  EXPECT_EQ(ChoiceByName(kSkipModes, "off"), model::SkipMode::kOff);
  EXPECT_EQ(ChoiceByName(kActivations, "int8"), model::Activations::kInt8);
  EXPECT_EQ(ChoiceByName(kBatchKernels, "vlut"), model::BatchKernel::kVlut);
  EXPECT_EQ(ChoiceByName(kKvTypes, "i8"), model::KvType::kI8);
  EXPECT_EQ(ChoiceByName(kSpeculations, "always"), runtime::Speculation::kAlways);
  EXPECT_EQ(ChoiceByName(kKvTypes, "f8"), model::KvType::kF16);
  EXPECT_EQ(FindChoice(kKvTypes, "f8"), nullptr);
  for (const auto& [name, value] : kKvTypes) {
    EXPECT_EQ(FindChoice(kKvTypes, name)->value, value);
    EXPECT_EQ(ChoiceNameOf(kKvTypes, value), name);
  }
  EXPECT_EQ(NamesOf(kSkipModes), (std::vector<std::string>{"auto", "on", "off"}));
}

}  // namespace
}  // namespace bittern::request
