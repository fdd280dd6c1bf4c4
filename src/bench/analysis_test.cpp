// SPDX-License-Identifier: Apache-2.0
// Figures that can be checked by hand.
#include "bench/analysis.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json/json.hpp"
#include "bench/explain.hpp"
#include "bench/report.hpp"

namespace bittern::bench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

BenchResult Decode(int threads, std::vector<std::uint64_t> samples_ns) {
  return {.num_gen = 100,
          .num_threads = threads,
          .ubatch_size = 512,
          .kv_type = "f16",
          .samples_ns = std::move(samples_ns),
          .cost = {{{.name = "qkv_proj", .bytes = 400, .multiply_adds = 1600, .ternary = true},
                    {.name = "output head", .bytes = 600, .multiply_adds = 300}}},
          .machine = MachineFigures{.read_bandwidth = 2e5, .int8_rate = 8e6}};
}

BenchResult Prefill(int threads, std::vector<std::uint64_t> samples_ns) {
  BenchResult result = Decode(threads, std::move(samples_ns));
  result.num_gen = 0;
  result.num_prompt = 1000;
  return result;
}

BenchSubject Subject() {
  return {.model_path = "/m/a<b>&\"c\"'\xff\x01.gguf",
          .model_type = "x & <y>",
          .cpu = "CPU \"1\" <2>",
          .isa = "scalar",
          .layout = "tile16",
          .matrix_kernel = "tile16_scalar",
          .float_kernel = "float32_scalar",
          .usable_threads = 4,
          .cache_bytes = 100,
          .context_length = 4096,
          .full_kv_bytes = 500};
}

constexpr std::uint64_t kSecond = 1'000'000'000;

TEST(BenchAnalysis, RatesAreTokensOverTime) {
  const BenchResult result = Decode(1, {kSecond, 4 * kSecond, 2 * kSecond});
  EXPECT_EQ(TestName(result), "tg100");
  EXPECT_EQ(TokensPerSecond(result), (std::vector<double>{100, 25, 50}));
  EXPECT_DOUBLE_EQ(MedianRate(result), 50);
  EXPECT_DOUBLE_EQ(MedianRate(Decode(1, {kSecond, 4 * kSecond})), 62.5);
  EXPECT_DOUBLE_EQ(MedianRate(Decode(1, {})), 0);
  EXPECT_DOUBLE_EQ(MedianRate(Prefill(1, {kSecond})), 1000);
}

TEST(BenchAnalysis, RoofsAreRulersOverCosts) {
  const auto memory = MemoryRoof(Decode(1, {kSecond}));
  ASSERT_TRUE(memory.has_value());
  EXPECT_DOUBLE_EQ(memory->limit, 200);  // 2e5 bytes a second, 1,000 a token
  EXPECT_DOUBLE_EQ(memory->fraction, 0.5);
  EXPECT_FALSE(MemoryRoof(Prefill(1, {kSecond})).has_value());
  const auto arithmetic = ArithmeticRoof(Prefill(1, {kSecond}));
  ASSERT_TRUE(arithmetic.has_value());
  EXPECT_DOUBLE_EQ(arithmetic->limit, 5000);  // the head runs once a prompt
  EXPECT_DOUBLE_EQ(arithmetic->fraction, 0.2);
  EXPECT_FALSE(ArithmeticRoof(Decode(1, {kSecond})).has_value());
  BenchResult unmeasured = Decode(1, {kSecond});
  unmeasured.machine.reset();
  EXPECT_FALSE(MemoryRoof(unmeasured).has_value());
}

TEST(BenchAnalysis, ScalingIsBesideTheFirstThreadCount) {
  const std::vector<BenchResult> results = {Prefill(2, {kSecond}), Decode(2, {4 * kSecond}),
                                            Prefill(8, {kSecond / 4}), Decode(8, {2 * kSecond})};
  EXPECT_EQ(&FirstOfTest(results, results[3]), &results[1]);
  const Scaling prefill = ScalingOf(results[2], FirstOfTest(results, results[2]));
  EXPECT_DOUBLE_EQ(prefill.speedup, 4);
  EXPECT_DOUBLE_EQ(prefill.efficiency, 1);
  const Scaling decode = ScalingOf(results[3], FirstOfTest(results, results[3]));
  EXPECT_DOUBLE_EQ(decode.speedup, 2);
  EXPECT_DOUBLE_EQ(decode.efficiency, 0.5);
  EXPECT_DOUBLE_EQ(ScalingOf(results[3], Decode(1, {})).speedup, 1);
}

TEST(BenchAnalysis, PricesAreForAMillionTokens) {
  EXPECT_DOUBLE_EQ(PricePerMillion(0.36, 100), 1);  // a million at 100 a second: 10,000 s
  EXPECT_DOUBLE_EQ(PricePerMillion(0.36, 0), 0);
  EXPECT_DOUBLE_EQ(PricePerMillion(0, 100), 0);
}

TEST(BenchAnalysis, EnergyIsSharedByAllTokens) {
  BenchResult result = Decode(1, {kSecond, kSecond});
  EXPECT_FALSE(JoulesPerToken(result).has_value());
  result.joules = 50;
  EXPECT_DOUBLE_EQ(JoulesPerToken(result).value_or(0), 0.25);
}

TEST(BenchAnalysis, AdviceFollowsTheFigures) {
  const auto say = [](const BenchSubject& subject, const std::vector<BenchResult>& results) {
    std::string all;
    for (const std::string& sentence : Advice(subject, results)) all += sentence + "\n";
    return all;
  };
  const std::string slow = say(Subject(), {Decode(2, {kSecond}), Prefill(2, {kSecond})});
  EXPECT_THAT(slow, HasSubstr("Decode reaches 50 %"));
  EXPECT_THAT(slow, HasSubstr("output head is 60 %"));
  EXPECT_THAT(slow, HasSubstr("would be 500.0 tokens"));
  EXPECT_THAT(slow, HasSubstr("context of 4096 tokens the KV cache adds 500 B"));
  EXPECT_THAT(slow, HasSubstr("Prefill reaches 20 %"));
  EXPECT_THAT(slow, HasSubstr("2 of 4 available cores were used"));
  BenchSubject other = Subject();
  other.cache_bytes = 2000;
  other.usable_threads = 2;
  other.forced_isa = "avx2";
  other.layout = "tl2";
  const std::string cached = say(other, {Decode(2, {kSecond})});
  EXPECT_THAT(cached, HasSubstr("fits in the last-level cache"));
  EXPECT_THAT(cached, HasSubstr("isa=avx2"));
  EXPECT_THAT(cached, HasSubstr("kernel=tl2"));
  EXPECT_THAT(cached, Not(HasSubstr("cores may be used")));
  // 79 % is memory for the most part, 96 % memory alone; the cache has no roof.
  EXPECT_THAT(say(Subject(), {Decode(2, {kSecond * 50 / 79})}),
              HasSubstr("memory limits most of it"));
  EXPECT_THAT(say(Subject(), {Decode(2, {kSecond * 50 / 96})}),
              HasSubstr("faster memory or fewer"));
  EXPECT_TRUE(FitsInCache(other, Decode(2, {kSecond})));
  EXPECT_FALSE(FitsInCache(Subject(), Decode(2, {kSecond})));
  EXPECT_THAT(ExtrasText(other, {.explain = true}, {Decode(2, {kSecond})}),
              AllOf(HasSubstr("memory is no limit"), Not(HasSubstr("of the roof"))));
  EXPECT_TRUE(Advice(other, {}).empty() == false);  // what does not depend on results stays
}

TEST(BenchAnalysis, BytesAreDecimal) {
  EXPECT_EQ(DecimalBytes(999), "999 B");
  EXPECT_EQ(DecimalBytes(1500), "1.5 kB");
  EXPECT_EQ(DecimalBytes(38.44e6), "38.4 MB");
  EXPECT_EQ(DecimalBytes(1.187e9), "1.19 GB");
}

TEST(BenchExplain, TextHasWhatWasAskedFor) {
  const std::vector<BenchResult> results = {Decode(1, {2 * kSecond}), Decode(2, {kSecond})};
  EXPECT_EQ(ExtrasText(Subject(), {}, results), "");
  const std::string text =
      ExtrasText(Subject(), {.explain = true, .matrix = true, .price_per_hour = 0.36}, results);
  EXPECT_THAT(text, HasSubstr("100.00 x2.00  ( 100 %)"));
  EXPECT_THAT(text, HasSubstr("output head         600 B   60.0 %"));
  EXPECT_THAT(text, HasSubstr("50 % of the roof of 200.00 tokens/s"));
  EXPECT_THAT(text, HasSubstr("at 0.36 per hour"));
  EXPECT_THAT(text, HasSubstr("energy: not measured"));
}

TEST(BenchExplain, JsonDescribesTheLastTest) {
  const std::vector<BenchResult> results = {Decode(1, {2 * kSecond}), Decode(2, {kSecond})};
  Json row;
  AddExtras(Subject(), {.explain = true, .matrix = true, .price_per_hour = 0.36}, results, &row);
  EXPECT_DOUBLE_EQ(row["scaling"]["speedup"].AsNumber().value_or(-1), 2);
  EXPECT_DOUBLE_EQ(row["price_per_million_tokens"].AsNumber().value_or(-1), 1);
  EXPECT_EQ(row["explain"]["bytes_per_token"], 1000);
  EXPECT_EQ(row["explain"]["parts"].size(), 2u);
  EXPECT_DOUBLE_EQ(row["explain"]["roof_fraction"].AsNumber().value_or(-1), 0.5);
  EXPECT_TRUE(row["explain"]["joules_per_token"].is_null());
  Json plain;
  AddExtras(Subject(), {}, results, &plain);
  EXPECT_TRUE(plain.is_null());
}

TEST(BenchAnalysis, RooflinePointsAreWorkOverBytes) {
  const auto decode = RooflinePointOf(Decode(1, {kSecond}));
  ASSERT_TRUE(decode);
  EXPECT_DOUBLE_EQ(decode->intensity, 1.9);
  EXPECT_DOUBLE_EQ(decode->rate, 1900 * 100);
  const auto prefill = RooflinePointOf(Prefill(1, {kSecond}));  // 512 tokens a chunk, no head
  ASSERT_TRUE(prefill);
  EXPECT_DOUBLE_EQ(prefill->intensity, 4 * 512);
  EXPECT_DOUBLE_EQ(prefill->rate, 1600 * 1000);
  BenchResult both = Decode(1, {kSecond});
  both.num_prompt = 10;
  EXPECT_FALSE(RooflinePointOf(both));
  BenchResult no_bytes = Decode(1, {kSecond});
  no_bytes.cost = {};
  EXPECT_FALSE(RooflinePointOf(no_bytes));
}

TEST(BenchPage, HasAllThatIsDrawn) {
  std::vector<BenchResult> results = {Prefill(1, {kSecond}), Decode(1, {kSecond, 2 * kSecond}),
                                      Prefill(2, {kSecond}), Decode(2, {kSecond})};
  results[1].joules = 3;
  const Json page = PageJson(Subject(), {.price_per_hour = 0.2}, results);
  EXPECT_EQ(page["model_type"].text(), "x & <y>");
  EXPECT_EQ(page["cpu_info"].text(), "CPU \"1\" <2>");
  EXPECT_EQ(page["usable_threads"].AsUint(), 4u);
  EXPECT_EQ(page["cache_bytes"].AsUint(), 100u);
  EXPECT_FALSE(page["advice"].empty());
  ASSERT_EQ(page["tests"].size(), 4u);
  const Json& decode = page["tests"][1];
  EXPECT_EQ(decode["test"].text(), "tg100");
  EXPECT_EQ(decode["samples_ts"].size(), 2u);
  EXPECT_EQ(decode["roofline"]["multiply_adds_per_byte"].AsNumber(), 1.9);
  EXPECT_EQ(decode["explain"]["parts"].size(), 2u);
  EXPECT_EQ(decode["explain"]["joules_per_token"].AsNumber(), 3.0 / 200);
  EXPECT_TRUE(decode.contains("price_per_million_tokens"));
  EXPECT_EQ(page["tests"][2]["scaling"]["threads"].AsUint(), 1u);
  EXPECT_FALSE(PageJson(Subject(), {}, results)["tests"][0].contains("price_per_million_tokens"));
  const Json none = PageJson(Subject(), {}, {});
  EXPECT_TRUE(none["tests"].is_array() && none["tests"].empty());
  EXPECT_TRUE(none["advice"].is_array());
}

}  // namespace
}  // namespace bittern::bench
