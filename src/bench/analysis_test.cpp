// SPDX-License-Identifier: Apache-2.0
// Figures that can be checked by hand, and pages and charts that an XML reader accepts whatever
// the names in them are.
#include "bench/analysis.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json/json.hpp"
#include "bench/explain.hpp"
#include "bench/html.hpp"
#include "bench/svg.hpp"

namespace bittern::bench {
namespace {

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

/// "" if every element is closed in order, every attribute is quoted and every & begins one of the
/// five entities or a number; else what is wrong. Enough of XML for what these pages use.
std::string XmlFault(std::string_view xml) {
  std::vector<std::string> open;
  std::size_t i = 0;
  while (i < xml.size()) {
    if (static_cast<unsigned char>(xml[i]) < 0x20 && xml[i] != '\n') return "control character";
    if (xml[i] == '&') {
      const std::size_t end = xml.find(';', i);
      if (end == std::string_view::npos || end - i > 6) return "bare &";
      const std::string_view name = xml.substr(i + 1, end - i - 1);
      if (name != "amp" && name != "lt" && name != "gt" && name != "quot" && name != "#39") {
        return "entity " + std::string(name);
      }
      i = end + 1;
      continue;
    }
    if (xml[i] != '<') {
      ++i;
      continue;
    }
    const std::size_t end = xml.find('>', i);
    if (end == std::string_view::npos) return "an element does not end";
    const std::string_view tag = xml.substr(i + 1, end - i - 1);
    i = end + 1;
    if (tag.starts_with('!')) continue;
    if (tag.find('<') != std::string_view::npos) return "< inside " + std::string(tag);
    if (std::ranges::count(tag, '"') % 2 != 0) return "quotes in " + std::string(tag);
    const std::string name(tag.substr(0, tag.find_first_of(" />", 1)));
    if (tag.starts_with('/')) {
      if (open.empty() || "/" + open.back() != tag) return "closes nothing: " + std::string(tag);
      open.pop_back();
    } else if (!tag.ends_with('/')) {
      open.push_back(name);
    }
  }
  return open.empty() ? "" : "open: " + open.back();
}

TEST(XmlFault, SeesFaults) {
  EXPECT_EQ(XmlFault("<a b=\"1\"><c/>x &amp; y</a>"), "");
  for (const char* bad :
       {"<a>", "</a>", "<a></b>", "a & b", "<a b=\"1></a>", "a&nbsp;b", "<a", "\x01"}) {
    EXPECT_NE(XmlFault(bad), "") << bad;
  }
}

TEST(BenchSvg, TextIsEscaped) {
  EXPECT_EQ(EscapeXml("a<b>&\"'\n"), "a&lt;b&gt;&amp;&quot;&#39; ");
  EXPECT_EQ(EscapeXml("\xff"), "\xef\xbf\xbd");
}

TEST(BenchSvg, ChartsAreWellFormed) {
  const std::string name = "<&\"'\xfe>";
  for (const double x : {1e-9, 1.0, 3.7, 1e12}) {
    const std::string svg =
        RooflineSvg(2e10 * x, 3e11, {{name, 2 * x, 1e10}, {name, 0, 1}, {name, 1e3 * x, 1e11}});
    EXPECT_EQ(XmlFault(svg), "") << x;
    EXPECT_THAT(svg, Not(HasSubstr("nan")));
    EXPECT_THAT(svg, Not(HasSubstr("inf")));
    EXPECT_EQ(svg.find("<circle"), svg.rfind("<circle", svg.rfind("<circle") - 1));  // two
  }
  EXPECT_EQ(RooflineSvg(0, 1, {}), "");
  for (const std::vector<ScalingSeries>& series :
       {std::vector<ScalingSeries>{},
        {{name, {}}},
        {{name, {{1, 1.0}}}},
        {{name, {{2, 1.0}, {64, 20.5}}}, {"b", {{2, 1.0}, {64, 0.1}}}}}) {
    const std::string svg = ScalingSvg(series);
    EXPECT_EQ(XmlFault(svg), "");
    EXPECT_THAT(svg, Not(HasSubstr("nan")));
  }
  EXPECT_EQ(XmlFault(BytesSvg({{name, 5}, {"b", 0}, {"c", 1e12}})), "");
  EXPECT_EQ(BytesSvg({}), "");
}

TEST(BenchHtml, IsOneWellFormedPage) {
  std::vector<BenchResult> results = {Prefill(1, {kSecond}), Decode(1, {kSecond, 2 * kSecond}),
                                      Prefill(2, {kSecond}), Decode(2, {kSecond})};
  results[1].joules = 3;
  const std::string page = BenchHtml(Subject(), {.price_per_hour = 0.2}, results);
  EXPECT_EQ(XmlFault(page), "");
  for (const char* text : {"Roofline", "Bytes read for one token", "Threads", "Results", "Machine",
                           "CPU &quot;1&quot; &lt;2&gt;", "prefers-color-scheme: dark"}) {
    EXPECT_THAT(page, HasSubstr(text));
  }
  for (const char* text : {"<script", "src=", "href=", "@import", "url("}) {
    EXPECT_THAT(page, Not(HasSubstr(text)));
  }
  EXPECT_EQ(XmlFault(BenchHtml(Subject(), {}, {})), "");
  EXPECT_EQ(XmlFault(BenchHtml(Subject(), {}, {Prefill(1, {kSecond})})), "");
}

}  // namespace
}  // namespace bittern::bench
