// SPDX-License-Identifier: Apache-2.0
// Rates are tokens per second of each repetition; avg and stddev are over those, as in
// llama-bench (sample standard deviation).
#include "bench/report.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/json/json.hpp"
#include "bench/analysis.hpp"
#include "bench/explain.hpp"

namespace bittern::bench {
namespace {

struct Statistics {
  double mean = 0, deviation = 0;
};

/// Mean and sample standard deviation; one sample has a deviation of 0.
Statistics Summarise(const std::vector<double>& samples) {
  const auto count = static_cast<double>(samples.size());
  Statistics statistics;
  for (const double x : samples) statistics.mean += x / count;
  if (samples.size() < 2) return statistics;
  double squares = 0;
  for (const double x : samples) squares += (x - statistics.mean) * (x - statistics.mean);
  statistics.deviation = std::sqrt(squares / (count - 1));
  return statistics;
}

std::vector<double> Nanoseconds(const BenchResult& result) {
  return {result.samples_ns.begin(), result.samples_ns.end()};
}

/// Sizes as llama-bench prints them: MiB below 1 GiB.
std::string HumanBytes(std::uint64_t bytes) {
  const auto b = static_cast<double>(bytes);
  return b < 0x1p30 ? fmt::format("{:.2f} MiB", b / 0x1p20) : fmt::format("{:.2f} GiB", b / 0x1p30);
}

std::string HumanCount(std::uint64_t count) {
  const auto n = static_cast<double>(count);
  return n < 1e9 ? fmt::format("{:.2f} M", n / 1e6) : fmt::format("{:.2f} B", n / 1e9);
}

/// The table of llama-bench. The deviation follows the rate after a plus-minus sign.
class MarkdownReport : public BenchReport {
 public:
  MarkdownReport(BenchSubject subject, BenchExtras extras)
      : subject_(std::move(subject)), extras_(extras) {}

  std::string Begin() override {
    return Line("model", "size", "params", "backend", "threads", "test", "t/s") +
           fmt::format(
               "| {:-<30} | {:->9}: | {:->9}: | {:-<10} | {:->6}: | {:->12}: | {:->18}: |\n", "",
               "", "", "", "", "", "");
  }
  std::string Row(const BenchResult& result) override {
    results_.push_back(result);
    const Statistics rate = Summarise(TokensPerSecond(result));
    return Line(subject_.model_type, HumanBytes(subject_.model_bytes),
                HumanCount(subject_.num_parameters), "CPU", std::to_string(result.num_threads),
                TestName(result), fmt::format("{:.2f} ± {:.2f}", rate.mean, rate.deviation));
  }
  std::string End() override { return ExtrasText(subject_, extras_, results_); }

 private:
  static std::string Line(std::string_view model, std::string_view size, std::string_view params,
                          std::string_view backend, std::string_view threads, std::string_view test,
                          std::string_view rate) {
    return fmt::format("| {:<30} | {:>10} | {:>10} | {:<10} | {:>7} | {:>13} | {:>19} |\n", model,
                       size, params, backend, threads, test, rate);
  }

  BenchSubject subject_;
  BenchExtras extras_;
  std::vector<BenchResult> results_;
};

/// The fields that are one value per test.
Json Fields(const BenchSubject& subject, const BenchResult& result) {
  const Statistics ns = Summarise(Nanoseconds(result));
  const Statistics rate = Summarise(TokensPerSecond(result));
  return {{"build_version", BITTERN_VERSION},
          {"cpu_info", subject.cpu},
          {"isa", subject.isa},
          {"backends", "CPU"},
          {"model_filename", subject.model_path},
          {"model_type", subject.model_type},
          {"model_size", subject.model_bytes},
          {"model_n_params", subject.num_parameters},
          {"n_batch", result.batch_size},
          {"n_ubatch", result.ubatch_size},
          {"n_threads", result.num_threads},
          {"type_k", result.kv_type},
          {"type_v", result.kv_type},
          {"n_prompt", result.num_prompt},
          {"n_gen", result.num_gen},
          {"n_depth", result.depth},
          {"avg_ns", std::llround(ns.mean)},
          {"stddev_ns", std::llround(ns.deviation)},
          {"avg_ts", rate.mean},
          {"stddev_ts", rate.deviation}};
}

/// The same with the lists of all repetitions, which CSV leaves out.
Json FieldsAndSamples(const BenchSubject& subject, const BenchResult& result) {
  Json json = Fields(subject, result);
  json["n_threads_used"] = result.threads_used;
  json["samples_ns"] = result.samples_ns;
  json["samples_ts"] = TokensPerSecond(result);
  return json;
}

std::string Dump(const Json& json, int indent) { return json.Dump(indent); }

/// `json` is one array, `jsonl` one line per test.
class JsonReport : public BenchReport {
 public:
  JsonReport(BenchSubject subject, BenchExtras extras, bool lines)
      : subject_(std::move(subject)), extras_(extras), lines_(lines) {}

  std::string Begin() override { return lines_ ? "" : "["; }
  std::string Row(const BenchResult& result) override {
    results_.push_back(result);
    Json json = FieldsAndSamples(subject_, result);
    AddExtras(subject_, extras_, results_, &json);
    if (lines_) return Dump(json, -1) + '\n';
    return std::exchange(first_, false) ? '\n' + Dump(json, 2) : ",\n" + Dump(json, 2);
  }
  std::string End() override { return lines_ ? "" : "\n]\n"; }

 private:
  BenchSubject subject_;
  BenchExtras extras_;
  std::vector<BenchResult> results_;
  bool lines_;
  bool first_ = true;
};

/// RFC 4180: every value in quotes, quotes doubled.
class CsvReport : public BenchReport {
 public:
  explicit CsvReport(BenchSubject subject) : subject_(std::move(subject)) {}

  std::string Begin() override {
    const Json fields = Fields(subject_, {});
    std::vector<std::string> names;
    for (const auto& field : fields.members()) names.push_back(field.key);
    return fmt::format("{}\n", fmt::join(names, ","));
  }
  std::string Row(const BenchResult& result) override {
    const Json fields = Fields(subject_, result);
    std::vector<std::string> values;
    for (const auto& field : fields.members()) values.push_back(Quote(field.value));
    return fmt::format("{}\n", fmt::join(values, ","));
  }

 private:
  static std::string Quote(const Json& value) {
    std::string quoted;
    for (const char c : value.is_string() ? value.text() : value.Dump()) {
      quoted.append(c == '"' ? 2 : 1, c);
    }
    return fmt::format("\"{}\"", quoted);
  }

  BenchSubject subject_;
};

}  // namespace

std::unique_ptr<BenchReport> MakeBenchReport(const std::string& format, const BenchSubject& subject,
                                             const BenchExtras& extras) {
  if (format == "csv") return std::make_unique<CsvReport>(subject);
  if (format == "json") return std::make_unique<JsonReport>(subject, extras, false);
  if (format == "jsonl") return std::make_unique<JsonReport>(subject, extras, true);
  return std::make_unique<MarkdownReport>(subject, extras);
}

/// The data of the page of --html: each test with its extras, and the advice.
Json PageJson(const BenchSubject& subject, BenchExtras extras,
              const std::vector<BenchResult>& results) {
  extras.explain = extras.matrix = true;
  Json tests = Json::MakeArray();
  std::vector<BenchResult> until;  // a test is compared with those before it
  for (const BenchResult& result : results) {
    until.push_back(result);
    Json test = FieldsAndSamples(subject, result);
    test["test"] = TestName(result);
    AddExtras(subject, extras, until, &test);
    if (const auto point = RooflinePointOf(result)) {
      test["roofline"] = {{"multiply_adds_per_byte", point->intensity},
                          {"multiply_adds_per_second", point->rate}};
    }
    tests.push_back(std::move(test));
  }
  Json advice = Json::MakeArray();
  if (!results.empty()) advice = Advice(subject, results, extras.word);
  return {{"model_type", subject.model_type},
          {"cpu_info", subject.cpu},
          {"usable_threads", subject.usable_threads},
          {"cache_bytes", subject.cache_bytes},
          {"tests", std::move(tests)},
          {"advice", std::move(advice)}};
}

}  // namespace bittern::bench
