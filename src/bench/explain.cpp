// SPDX-License-Identifier: Apache-2.0
// Each extra is read from the report as it was measured and written twice: as lines and as JSON.
#include "bench/explain.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/json/json.hpp"
#include "bench/analysis.hpp"

namespace bittern::bench {
namespace {

constexpr const char* kNoMeter =
    "energy: not measured; no counter that may be read (/sys/class/powercap/*rapl*/energy_uj)\n";

/// Parts that may be left out in part (zeros that are skipped) are marked as upper bounds.
std::string ByteTable(const BenchResult& result) {
  const auto total = static_cast<double>(result.cost.bytes());
  std::string text = fmt::format("bytes read for one token ({}, context {}):\n", TestName(result),
                                 result.context());
  for (const auto& part : result.cost.parts) {
    const auto bytes = static_cast<double>(part.bytes);
    text += fmt::format("  {:<14} {:>10}  {:5.1f} %{}\n", part.name, DecimalBytes(bytes),
                        total > 0 ? 100 * bytes / total : 0, part.at_most ? "  at most" : "");
  }
  return text + fmt::format("  {:<14} {:>10}\n", "all", DecimalBytes(total));
}

/// One line for each thread count's rulers, one for each test beside them.
std::string Roofs(const BenchSubject& subject, const std::vector<BenchResult>& results) {
  std::string text;
  int threads = 0;
  for (const BenchResult& result : results) {
    if (!result.machine.has_value()) continue;
    if (result.num_threads != threads) {
      threads = result.num_threads;
      text += fmt::format(
          "{} thread{}: plain read {}/s, int8 kernel in cache {:.1f} G "
          "multiply-adds/s\n",
          threads, threads == 1 ? "" : "s", DecimalBytes(result.machine->read_bandwidth),
          result.machine->int8_rate / 1e9);
    }
    if (const auto roof = MemoryRoof(result)) {
      text += fmt::format(
          "  {}: {:.2f} tokens/s (median), reads {}/s, ", TestName(result), MedianRate(result),
          DecimalBytes(MedianRate(result) * static_cast<double>(result.cost.bytes())));
      text += FitsInCache(subject, result)
                  ? std::string("which the cache holds: memory is no limit\n")
                  : fmt::format("{:.0f} % of the roof of {:.2f} tokens/s\n", 100 * roof->fraction,
                                roof->limit);
    }
    if (const auto roof = ArithmeticRoof(result)) {
      const auto work = static_cast<double>(result.cost.ternary_multiply_adds());
      text += fmt::format(
          "  {}: {:.2f} tokens/s (median), {:.3g} G multiply-adds a token, {:.1f} G "
          "a second, {:.0f} % of the kernel's rate\n",
          TestName(result), MedianRate(result), work / 1e9, MedianRate(result) * work / 1e9,
          100 * roof->fraction);
    }
  }
  return text;
}

/// The bytes and messages that rank 0 exchanges with the others for one token of a test.
std::string TrafficTable(const BenchResult& result) {
  if (result.num_ranks == 1) return {};
  const auto tokens = static_cast<double>(result.num_tokens());
  std::string text = fmt::format("exchanged for one token ({}, {} ranks, seen from rank 0):\n",
                                 TestName(result), result.num_ranks);
  const auto line = [&](std::string_view name, const model::RankTraffic& sum) {
    text += fmt::format("  {:<14} {:>7.1f} messages {:>10} {:>10.1f} us\n", name,
                        static_cast<double>(sum.messages) / tokens,
                        DecimalBytes(static_cast<double>(sum.bytes) / tokens),
                        1e6 * sum.seconds / tokens);
  };
  model::RankTraffic all;
  for (std::size_t i = 0; i < result.traffic.size(); ++i) {
    const model::RankTraffic& step = result.traffic[i];
    if (step.messages != 0) line(model::kRankStepNames[i], step);
    all.messages += step.messages;
    all.bytes += step.bytes;
    all.seconds += step.seconds;
  }
  line("all", all);
  return text + fmt::format("  of {:.1f} us in all\n", 1e6 / MedianRate(result));
}

/// The same figures as TrafficTable's.
Json TrafficJson(const BenchResult& result) {
  const auto tokens = static_cast<double>(result.num_tokens());
  Json steps;
  for (std::size_t i = 0; i < result.traffic.size(); ++i) {
    const model::RankTraffic& step = result.traffic[i];
    if (step.messages == 0) continue;
    steps.push_back({{"step", model::kRankStepNames[i]},
                     {"messages", static_cast<double>(step.messages) / tokens},
                     {"bytes", static_cast<double>(step.bytes) / tokens},
                     {"seconds", step.seconds / tokens}});
  }
  return {{"ranks", result.num_ranks}, {"of_a_token", std::move(steps)}};
}

std::string Energy(const std::vector<BenchResult>& results) {
  std::string text;
  for (const BenchResult& result : results) {
    if (const auto joules = JoulesPerToken(result)) {
      text += fmt::format(
          "energy: {} with {} threads: {:.3g} J per token (CPU packages, all "
          "programs)\n",
          TestName(result), result.num_threads, *joules);
    }
  }
  return text.empty() ? kNoMeter : text;
}

std::string Explanation(const BenchSubject& subject, const Wording& word,
                        const std::vector<BenchResult>& results) {
  std::string text =
      fmt::format("\nkernels: {} (layout {}) for ternary matrices, {} for everything else\n",
                  subject.matrix_kernel, subject.layout, subject.float_kernel);
  text += fmt::format("         why {}: {}\n", subject.layout, subject.layout_reason);
  if (!subject.sparse_kernel.empty()) {
    text += fmt::format("         {} for the feed-forward part without its zeros\n",
                        subject.sparse_kernel);
  }
  if (!subject.screen_kernel.empty()) {
    text +=
        fmt::format("         {} for the coarse copy of the output head\n", subject.screen_kernel);
  }
  const auto decode = std::ranges::find_if(results, &BenchResult::is_decode);
  if (decode != results.end()) text += ByteTable(*decode);
  text += Roofs(subject, results);
  for (const BenchResult& result : results) text += TrafficTable(result);
  text += Energy(results);
  for (const std::string& sentence : Advice(subject, results, word)) text += "- " + sentence + "\n";
  return text;
}

/// Thread counts down, tests across; each cell the median rate and how it grew.
/// Empty where a pair of threads and test was not measured.
std::string Matrix(const std::vector<BenchResult>& results) {
  std::vector<std::string> tests;
  std::vector<int> threads;
  for (const BenchResult& result : results) {
    if (std::ranges::find(tests, TestName(result)) == tests.end()) {
      tests.push_back(TestName(result));
    }
    if (std::ranges::find(threads, result.num_threads) == threads.end()) {
      threads.push_back(result.num_threads);
    }
  }
  std::string text = fmt::format("\n| {:>7} |", "threads");
  for (const std::string& test : tests) text += fmt::format(" {:>28} |", test);
  text += "\n| ------: |";
  for (std::size_t i = 0; i < tests.size(); ++i) text += fmt::format(" {:->27}: |", "");
  for (const int count : threads) {
    text += fmt::format("\n| {:>7} |", count);
    for (const std::string& test : tests) {
      const auto found = std::ranges::find_if(results, [&](const BenchResult& result) {
        return result.num_threads == count && TestName(result) == test;
      });
      if (found == results.end()) {
        text += fmt::format(" {:>28} |", "");
        continue;
      }
      const Scaling scaling = ScalingOf(*found, FirstOfTest(results, *found));
      text += fmt::format(" {:>12.2f} x{:<5.2f} ({:>4.0f} %) |", MedianRate(*found),
                          scaling.speedup, 100 * scaling.efficiency);
    }
  }
  return text + "\n";
}

std::string Prices(double per_hour, const std::vector<BenchResult>& results) {
  std::string text = fmt::format("\nat {:g} per hour, a million tokens cost:\n", per_hour);
  for (const BenchResult& result : results) {
    text += fmt::format("  {:<8} {:>2} thread{} {:>10.4g}  ({})\n", TestName(result),
                        result.num_threads, result.num_threads == 1 ? " " : "s",
                        PricePerMillion(per_hour, MedianRate(result)),
                        result.is_decode()    ? "generated"
                        : result.is_prefill() ? "prompt"
                                              : "both");
  }
  return text;
}

Json ExplainJson(const BenchSubject& subject, const Wording& word,
                 const std::vector<BenchResult>& results) {
  const BenchResult& result = results.back();
  Json json = {{"layout", subject.layout},
               {"layout_reason", subject.layout_reason},
               {"matrix_kernel", subject.matrix_kernel},
               {"float_kernel", subject.float_kernel},
               {"sparse_kernel", subject.sparse_kernel},
               {"screen_kernel", subject.screen_kernel}};
  if (result.machine.has_value()) {
    json["read_bandwidth"] = result.machine->read_bandwidth;
    json["int8_rate"] = result.machine->int8_rate;
  }
  json["fits_in_cache"] = FitsInCache(subject, result);
  json["multiply_adds_per_token"] = result.cost.ternary_multiply_adds();
  if (const auto roof = MemoryRoof(result)) {
    json["context"] = result.context();
    json["bytes_per_token"] = result.cost.bytes();
    for (const auto& part : result.cost.parts) {
      json["parts"].push_back(
          {{"name", part.name}, {"bytes", part.bytes}, {"at_most", part.at_most}});
    }
    json["roof_ts"] = roof->limit;
    json["roof_fraction"] = roof->fraction;
  }
  if (const auto roof = ArithmeticRoof(result)) {
    json["roof_ts"] = roof->limit;
    json["roof_fraction"] = roof->fraction;
  }
  if (result.num_ranks > 1) json["exchanged"] = TrafficJson(result);
  const auto joules = JoulesPerToken(result);
  json["joules_per_token"] = joules.has_value() ? Json(*joules) : Json(nullptr);
  json["advice"] = Advice(subject, {result}, word);
  return json;
}

}  // namespace

std::string ExtrasText(const BenchSubject& subject, const BenchExtras& extras,
                       const std::vector<BenchResult>& results) {
  std::string text;
  if (results.empty()) return text;
  if (extras.matrix) text += Matrix(results);
  if (extras.price_per_hour > 0) text += Prices(extras.price_per_hour, results);
  if (extras.explain) text += Explanation(subject, extras.word, results);
  return text;
}

void AddExtras(const BenchSubject& subject, const BenchExtras& extras,
               const std::vector<BenchResult>& results, Json* row) {
  const BenchResult& result = results.back();
  if (extras.matrix) {
    const BenchResult& first = FirstOfTest(results, result);
    const Scaling scaling = ScalingOf(result, first);
    (*row)["scaling"] = {{"threads", first.num_threads},
                         {"speedup", scaling.speedup},
                         {"efficiency", scaling.efficiency}};
  }
  if (extras.price_per_hour > 0) {
    (*row)["price_per_hour"] = extras.price_per_hour;
    (*row)["price_per_million_tokens"] = PricePerMillion(extras.price_per_hour, MedianRate(result));
  }
  if (extras.explain) (*row)["explain"] = ExplainJson(subject, extras.word, results);
}

}  // namespace bittern::bench
