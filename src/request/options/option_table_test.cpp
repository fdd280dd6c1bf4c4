// SPDX-License-Identifier: Apache-2.0
#include "request/options/option_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <set>

#include "request/options/choice_names.hpp"
#include "request/options/sampler_option_table.hpp"
#include "runtime/generate_options.hpp"
#include "runtime/session.hpp"

namespace bittern::request {
namespace {

TEST(OptionTable, NamesAnOptionOnceTogetherWithTheSamplers) {
  std::set<std::string_view> names;
  for (const Option& row : OptionTable()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(FindOption(row.name), &row);
    EXPECT_NE(row.uses, 0u) << row.name;
    EXPECT_FALSE(row.help.empty() || row.help.ends_with('.')) << row.name;
  }
  for (const SamplerOption& row : SamplerOptionTable()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
  }
  EXPECT_EQ(FindOption("n_predic"), nullptr);
}

TEST(OptionTable, TakesItsOwnDefaults) {
  for (const Option& row : OptionTable()) {
    const bool in_words = row.name == "max_sequences";
    if (row.initial.empty() || in_words) continue;
    EXPECT_TRUE(Accepts(row, row.initial)) << row.name;
  }
  EXPECT_EQ(FindOption("batch_size")->initial,
            std::to_string(runtime::SessionOptions{}.batch_size));
  EXPECT_EQ(FindOption("logprobs")->initial, std::to_string(runtime::GenerateOptions{}.logprobs));
}

template <class T, std::size_t N>
void ExpectChoices(std::string_view name, const ChoiceName<T> (&table)[N]) {
  EXPECT_EQ(FindOption(name)->choices, fmt::format("{}", fmt::join(NamesOf(table), " ")));
  EXPECT_EQ(FindOption(name)->initial, table[0].name);
}

TEST(OptionTable, HasTheChoicesThatHaveMeanings) {
  ExpectChoices("head", kHeadModes);
  ExpectChoices("zero_skip", kSkipModes);
  ExpectChoices("activations", kActivations);
  ExpectChoices("batch_kernel", kBatchKernels);
  ExpectChoices("kv_type", kKvTypes);
  ExpectChoices("speculation", kSpeculations);
  ExpectChoices("pooling", kPoolings);
}

TEST(OptionTable, TakesNumbersOfTheRangeSwitchesAndChoicesOnly) {
  const Option& whole = *FindOption("connections");
  EXPECT_TRUE(Accepts(whole, "1") && Accepts(whole, "16"));
  for (const char* wrong : {"0", "17", "4x", " 4", "0x4", "", "4.0", "99999999999999999999"}) {
    EXPECT_FALSE(Accepts(whole, wrong)) << wrong;
  }
  EXPECT_EQ(ExpectedText(whole), "a whole number of 1 to 16");
  const Option& choice = *FindOption("kv_type");
  EXPECT_TRUE(Accepts(choice, "f16") && Accepts(choice, "i8"));
  EXPECT_FALSE(Accepts(choice, "f1") || Accepts(choice, "") || Accepts(choice, "f16 f32"));
  EXPECT_EQ(ExpectedText(choice), "one of f16 f32 i8");
  const Option& onoff = *FindOption("prove");
  for (const char* word : {"on", "1", "true", "off", "0", "false"}) {
    EXPECT_TRUE(Accepts(onoff, word));
    EXPECT_EQ(IsOn(word), word == std::string_view("on") || word == std::string_view("1") ||
                              word == std::string_view("true"));
  }
  EXPECT_FALSE(Accepts(onoff, "yes") || Accepts(onoff, ""));
}

}  // namespace
}  // namespace bittern::request
