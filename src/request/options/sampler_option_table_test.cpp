// SPDX-License-Identifier: Apache-2.0
// The table against the struct, and each row through its readers and writers.
#include "request/options/sampler_option_table.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "base/json/json.hpp"
#include "request/options/sampler_option_json.hpp"
#include "request/options/sampler_option_text.hpp"
#include "tokenizer/test_vocabulary.hpp"

namespace bittern::request {
namespace {

using runtime::SamplerOptions;
using testing::HasSubstr;

const SamplerOption& Row(std::string_view name) { return *FindSamplerOption(name); }

Result<void> Set(std::string_view name, std::vector<std::string> texts, SamplerOptions* options) {
  return SetSamplerOption(Row(name), texts, options);
}

/// The offsets of the struct's members.
std::set<const void*> AddressesOfMembers(const SamplerOptions& options) {
  // Does this line no longer compile? The struct has another number of members: name one more here,
  // and give it a row in sampler_option_table.cpp.
  const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa,
               bb] = options;
  return {&a, &b, &c, &d, &e, &f, &g, &h, &i, &j, &k, &l, &m,  &n,
          &o, &p, &q, &r, &s, &t, &u, &v, &w, &x, &y, &z, &aa, &bb};
}

TEST(SamplerOptionTable, HasEveryMemberOnceUnderItsOwnName) {
  const SamplerOptions options;
  std::set<const void*> members = AddressesOfMembers(options);
  std::set<std::string_view> names;
  for (const SamplerOption& row : SamplerOptionTable()) {
    const void* address =
        std::visit([&](auto member) -> const void* { return &(options.*member); }, row.member);
    EXPECT_EQ(members.erase(address), 1u) << row.name << ": its member is in another row";
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(FindSamplerOption(row.name), &row);
  }
  EXPECT_EQ(members.size(), 0u) << "members that are in no row";
  EXPECT_EQ(FindSamplerOption("temprature"), nullptr);
}

TEST(SamplerOptionTable, HelpNamesOtherOptionsAsTheyAreSpelt) {
  const auto name = [](const SamplerOption& other) { return std::string(other.name); };
  EXPECT_EQ(HelpOf(Row("dynatemp_range"), name),
            "Temperature from temperature - X to temperature + X by entropy; 0: temperature");
  for (const SamplerOption& row : SamplerOptionTable()) {
    EXPECT_FALSE(row.help.empty() || row.flags.empty() || row.placeholder.empty()) << row.name;
    EXPECT_GT(row.flags.substr(row.flags.rfind(',') + 1).size(), 1u) << row.flags;  // a long one
    const std::string help = HelpOf(row, [](const auto&) { return std::string("@"); });
    EXPECT_EQ(help.find_first_of("{}"), std::string::npos) << help;
    EXPECT_EQ(std::ranges::count(help, '@'), std::ranges::count(row.help, '{')) << row.help;
  }
}

/// The value as JSON, which shows all there is of it.
std::string Shown(const SamplerOption& row, const SamplerOptions& options) {
  return SamplerOptionJson(row, options).Dump();
}

TEST(SamplerOptionText, DefaultsAreTheStructs) {
  const SamplerOptions defaults;
  for (const SamplerOption& row : SamplerOptionTable()) {
    if (TakesSeveral(row)) continue;
    SamplerOptions options{.temperature = 3, .top_k = 9, .seed = 1, .samplers = {}};
    ASSERT_TRUE(SetSamplerOption(row, std::vector{DefaultText(row)}, &options)) << row.name;
    EXPECT_EQ(Shown(row, options), Shown(row, defaults));
  }
  EXPECT_EQ(DefaultText(Row("temperature")), "0.8");
  EXPECT_EQ(DefaultText(Row("seed")), "-1");
  EXPECT_EQ(DefaultText(Row("dry_sequence_breakers")), R"(["\n",":","\"","*"])");
  EXPECT_EQ(DefaultText(Row("logit_bias")), "");
}

TEST(SamplerOptionText, SetsEachMemberAndNoOther) {
  for (const SamplerOption& row : SamplerOptionTable()) {
    const std::string name(row.name);
    const std::string text = name == "samplers"     ? "top_k;temp"
                             : name == "logit_bias" ? "7-inf"
                             : name == "dry_base"   ? "2"
                             : name == "mirostat"   ? "2"
                             : row.least < -1       ? "0.25"
                             : row.most == 1        ? "0.25"
                                                    : "3";
    SamplerOptions options;
    ASSERT_TRUE(SetSamplerOption(row, std::vector{text}, &options)) << name;
    for (const SamplerOption& other : SamplerOptionTable()) {
      EXPECT_EQ(Shown(other, options) != Shown(other, {}), &other == &row) << name << other.name;
    }
  }
}

TEST(SamplerOptionText, SeveralTextsAddUp) {
  SamplerOptions options;
  ASSERT_TRUE(Set("logit_bias", {"15043+1.5", "2-0.5", "3-inf"}, &options));
  ASSERT_EQ(options.logit_bias.size(), 3u);
  EXPECT_EQ(options.logit_bias[1].bias, -0.5f);
  EXPECT_EQ(options.logit_bias[2].bias, -std::numeric_limits<float>::infinity());
  ASSERT_TRUE(Set("dry_sequence_breakers", {"a", "\n"}, &options));
  EXPECT_EQ(options.dry_sequence_breakers, (std::vector<std::string>{"a", "\n"}));
  ASSERT_TRUE(Set("dry_sequence_breakers", {"none"}, &options));
  EXPECT_TRUE(options.dry_sequence_breakers.empty());
  ASSERT_TRUE(Set("top_k", {"5", "6"}, &options));
  EXPECT_EQ(options.top_k, 6);
}

TEST(SamplerOptionText, RefusesWithTheWords) {
  const std::pair<std::string_view, std::pair<const char*, const char*>> wrong[] = {
      {"temperature", {"warm", "temperature: a number expected, \"warm\" found"}},
      {"temperature", {"nan", "temperature: a number expected, \"nan\" found"}},
      {"top_p", {"1.5", "top_p: a number of 0 to 1 expected, \"1.5\" found"}},
      {"top_k", {"-2", "top_k: a whole number of -1 to 2147483647 expected, \"-2\" found"}},
      {"seed",
       {"4294967296", "seed: a whole number of -1 to 4294967295 expected, \"4294967296\" found"}},
      {"repeat_penalty", {"0", "repeat_penalty: a number above 0 (1 is off) expected, 0 found"}},
      {"dry_base", {"0.5", "dry_base: 1 or more expected, 0.5 found"}},
      {"adaptive_decay", {"1", "adaptive_decay: 0 to 0.99 expected, 1 found"}},
      {"mirostat", {"3", "mirostat: 0 (off), 1 or 2 expected, 3 found"}},
      {"samplers", {"tall", "samplers: one of penalties, dry, "}},
      {"logit_bias",
       {"7--1",
        "logit_bias: ID+BIAS or ID-BIAS, as in 15043-1.5 or 15043-inf, "
        "expected, \"7--1\" found"}},
      {"logit_bias", {"-7+1", "logit_bias: a token id of 0 or more expected, -7 found"}},
      {"logit_bias", {"7+inf", "logit_bias: a number or -infinity expected, inf found"}}};
  for (const auto& [name, value] : wrong) {
    SamplerOptions options;
    const auto set = Set(name, {value.first}, &options);
    ASSERT_FALSE(set) << name << "=" << value.first;
    EXPECT_EQ(set.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(set.error().message, testing::StartsWith(value.second));
    EXPECT_EQ(Shown(Row(name), options), Shown(Row(name), {}));
  }
}

/// Reads {name: json} for one row.
Result<void> ReadJson(const SamplerOption& row, std::string_view json, SamplerOptions* options) {
  static const tokenizer::Tokenizer tokenizer = *tokenizer::SmallVocabulary().Build();
  const auto body =
      BITTERN_TRY(Json::Parse(fmt::format("{{\"{}\": {}}}", row.name, json), JsonLimits()));
  auto fields = BITTERN_TRY(FieldReader::Open(body));
  BITTERN_TRY(ReadSamplerOption(row, tokenizer, &fields, options));
  return fields.Finish();
}

TEST(SamplerOptionJson, ReadsWhatItWrites) {
  SamplerOptions options{.temperature = 0.7f,
                         .top_k = 3,
                         .seed = 5,
                         .dry_multiplier = 0.8f,
                         .dry_sequence_breakers = {"x"},
                         .mirostat = 1,
                         .logit_bias = {{4, 0.5f}, {5, -std::numeric_limits<float>::infinity()}},
                         .samplers = {runtime::SamplerStep::kTopK}};
  EXPECT_EQ(Shown(Row("temperature"), options), "0.7");
  EXPECT_EQ(Shown(Row("logit_bias"), options), "[[4,0.5],[5,false]]");
  for (const SamplerOption& row : SamplerOptionTable()) {
    SamplerOptions read;
    const auto done = ReadJson(row, Shown(row, options), &read);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(Shown(row, read), Shown(row, options));
    EXPECT_FALSE(ReadJson(row, "{\"a\": true}", &read)) << row.name;
  }
}

TEST(SamplerOptionJson, RefusesWithTheWords) {
  const std::pair<std::string_view, std::pair<const char*, const char*>> wrong[] = {
      {"top_p", {"2", "top_p: a number from 0 to 1 expected, 2 found"}},
      {"temperature",
       {"\"x\"", "temperature: a number from -3e+38 to 3e+38 expected, \"x\" found"}},
      {"top_k", {"1.5", "top_k: a whole number from -1 to 2147483647 expected, 1.5 found"}},
      {"seed", {"-2", "seed: a whole number from -1 to 4294967295 expected, -2 found"}},
      {"dry_sequence_breakers",
       {"\"a\"", "dry_sequence_breakers: a list of texts expected, \"a\" found"}},
      {"logit_bias", {"{\"x\": 1}", "logit_bias: token ids as keys expected, \"x\" found"}},
      {"logit_bias", {"[[1]]", "logit_bias[0]: [token, bias] expected, an array found"}},
      {"samplers", {"\"q\"", "samplers: a text of llama.cpp's letters expected, \"q\" found"}},
      {"samplers", {"[\"tall\"]", "samplers[0]: samplers: one of penalties"}}};
  for (const auto& [name, value] : wrong) {
    SamplerOptions options;
    const auto read = ReadJson(Row(name), value.first, &options);
    ASSERT_FALSE(read) << name << value.first;
    EXPECT_THAT(read.error().message, testing::StartsWith(value.second));
  }
}

}  // namespace
}  // namespace bittern::request
