// SPDX-License-Identifier: Apache-2.0
// `bittern bench`: tokens per second of reading (pp512: a prompt of 512 random tokens) and of
// writing (tg128: 128 single steps from an empty context), measured as llama-bench does.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/files/atomic_file.hpp"
#include "bench/analysis.hpp"
#include "bench/measure.hpp"
#include "bench/parallel.hpp"
#include "bench/plan.hpp"
#include "bench/report.hpp"
#include "bench/subject.hpp"
#include "cli/options/model_options.hpp"
#include "cli/options/outputs.hpp"
#include "cli/shared/commands.hpp"
#include "cli/shared/output.hpp"
#include "cli/shared/page_origin.hpp"
#include "cli/shared/terminal.hpp"
#include "cli/shared/wording.hpp"
#include "report/page/page.hpp"

namespace bittern::cli {
namespace {

using bench::BenchExtras;
using bench::BenchReport;
using bench::BenchResult;
using bench::BenchSubject;

constexpr const char* kBenchExamples = R"(Examples:
  bittern bench model.gguf
  bittern bench model.gguf -p 128,512 -n 32 -t 1-4 --matrix
  bittern bench model.gguf --explain --html bench.html)";

struct BenchOptions {
  ModelOptions model;
  ContextOptions context;
  std::string prompts = "512", gens = "128", depths = "0", threads = "0";
  std::vector<std::string> pairs;  ///< -pg
  int repetitions = 5;
  std::string format = "md";
  bool warmup = true;
  BenchExtras extras;
  std::string parallel;  ///< numbers of sequences; empty: one at a time
  std::string html;      ///< file to write; empty: none

  /// Whether rulers of the machine are wanted.
  [[nodiscard]] bool measures_machine() const { return extras.explain || !html.empty(); }
};

constexpr bench::PlanNames kListFlags = {"-p", "-n", "-d", "-t", "-pg"};

/// State that the tests of a run share, and the sinks of their results.
struct BenchRun {
  std::shared_ptr<const runtime::LoadedModel> model;
  std::unique_ptr<BenchReport> report;
  StandardOutput* out;
  std::vector<BenchResult> results = {};
};

/// The tests of one thread count, reported as they end.
Result<void> RunTests(const BenchOptions& options, const bench::BenchPlan& plan, int num_threads,
                      BenchRun* run) {
  const auto session = BITTERN_TRY(ToSessionOptions(options.context, num_threads, *run->model));
  const bench::MeasureOptions measure = {.session = session,
                                         .repetitions = options.repetitions,
                                         .warmup = options.warmup,
                                         .machine = options.measures_machine(),
                                         .batch_size = options.context.batch_size,
                                         .ubatch_size = options.context.ubatch_size,
                                         .kv_type = options.context.type_k};
  ProgressLine progress;
  return bench::RunBench(run->model, plan, measure,
                         {.on_progress = [&](std::string_view what) { progress.Show(what); },
                          .on_result =
                              [&](const BenchResult& test) {
                                progress.Clear();
                                run->out->Write(run->report->Row(test));
                                run->results.push_back(test);
                              }});
}

/// Returns the page of --html; empty if none was asked for.
Result<std::string> Bench(const BenchOptions& options, StandardOutput* out) {
  BITTERN_TRY(CheckContextOptions(options.context));
  const bench::ThreadedPlan plan = BITTERN_TRY(bench::ParsePlan(
      {options.prompts, options.gens, options.depths, options.threads, options.pairs}, kListFlags));
  const auto model = BITTERN_TRY(LoadModel(options.model, 0));
  NoticeUnreadOverrides(options.model.overrides, model->model.checkpoint().metadata());
  BITTERN_TRY(bench::CheckPlan(plan, model->model.config().context_length, kListFlags));
  const auto kv_type = BITTERN_TRY(ToSessionOptions(options.context, 0, *model)).kv_type;
  const BenchSubject subject = BITTERN_TRY(bench::DescribeSubject(*model, kv_type));
  BenchExtras extras = options.extras;
  extras.word = WordOptions;
  BenchRun run{model, bench::MakeBenchReport(options.format, subject, extras), out};
  out->Write(run.report->Begin());
  for (const int num_threads : plan.threads) {
    BITTERN_TRY(RunTests(options, plan, num_threads, &run));
  }
  out->Write(run.report->End());
  for (const BenchResult& test : run.results) {  // behind the table, which they would tear
    if (const std::string held_up = bench::HeldUpText(test); !held_up.empty()) {
      PrintRemark("notice: {}\n", held_up);
    }
  }
  if (options.html.empty()) return std::string();
  Json page = bench::PageJson(subject, extras, run.results);
  page["made"] = PageOrigin();
  return report::HtmlPage(report::PageKind::kBench, page);
}

/// The one number that -np takes from a list flag; what is not given is as in llama-batched-bench.
Result<int> OneNumber(const std::string& text, std::string_view flag, const std::string& untouched,
                      int otherwise) {
  if (text == untouched) return otherwise;
  return bench::ParseOneNumber(text, flag, "-np");
}

/// bench -np: many sequences at a time.
Result<void> BenchManySequences(const BenchOptions& options, StandardOutput* out) {
  const auto counts = BITTERN_TRY(bench::ParseSequenceCounts(options.parallel, "-np"));
  const BenchOptions defaults;
  bench::ParallelBench parallel;
  parallel.num_prompt = BITTERN_TRY(OneNumber(options.prompts, "-p", defaults.prompts, 128));
  parallel.num_gen = BITTERN_TRY(OneNumber(options.gens, "-n", defaults.gens, 64));
  const int threads = options.threads == defaults.threads
                          ? 0
                          : BITTERN_TRY(OneNumber(options.threads, "-t", defaults.threads, 1));
  parallel.counts = counts;
  parallel.json_lines = options.format == "json" || options.format == "jsonl";
  const auto model = BITTERN_TRY(LoadModel(options.model, threads));
  const int limit = model->model.config().context_length;
  if (parallel.num_gen < 2 || parallel.num_prompt > limit - parallel.num_gen) {
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("-p and -n: 2 generated tokens at least and {} in all at most expected, "
                    "{} and {} found",
                    limit, parallel.num_prompt, parallel.num_gen));
  }
  const auto session = BITTERN_TRY(ToSessionOptions(options.context, threads, *model));
  parallel.engine = {.kv_type = session.kv_type,
                     .batch_size = session.batch_size,
                     .num_threads = session.num_threads};
  ProgressLine progress;
  return bench::RunParallelBench(
      model, parallel, [out](std::string_view text) { out->Write(text); },
      [&](int count) {
        if (count == 0) return progress.Clear();
        progress.Show(fmt::format("{} sequences", count));
      });
}

int BenchCommand(const BenchOptions& options) {
  StandardOutput out;
  if (!options.parallel.empty()) {
    const Result<void> done = BenchManySequences(options, &out);
    return done ? 0 : Report(done.error());
  }
  std::optional<AtomicFile> page;
  if (!options.html.empty()) {  // before the work: a wrong path is told at once
    auto file = AtomicFile::Create(options.html);
    if (!file.has_value()) return Report(file.error(), kExitRuntime);
    page.emplace(*std::move(file));
  }
  const Result<std::string> html = Bench(options, &out);
  if (!html.has_value()) return Report(html.error());
  Result<void> written = out.Status();
  if (page.has_value() && written.has_value()) {
    written = page->Write(*html).and_then([&] { return page->Commit(); });
  }
  return written.has_value() ? 0 : Report(written.error(), kExitRuntime);
}

void AddBenchExtras(CLI::App& command, BenchOptions* options) {
  command.add_flag("--explain", options->extras.explain,
                   "Explain the figures: bytes per token, limits of this machine, kernels");
  command.add_flag("--matrix", options->extras.matrix,
                   "Show tests by thread counts and how they scale");
  command
      .add_option("--cost", options->extras.price_per_hour,
                  "Price of this machine per hour, to show the price of a million tokens")
      ->type_name("PRICE")
      ->check(Number(0, 1e12));
  command.add_option("--html", options->html, "Write the results as a page with charts, too")
      ->type_name("FILE")
      ->check(PlainFile());
}

}  // namespace

void AddBench(CLI::App& app, int* exit_code) {
  CLI::App* command = app.add_subcommand("bench", "Measure tokens per second");
  const auto options = std::make_shared<BenchOptions>();
  options->model.head_copy = model::HeadCopy::kAtOnce;  // no measurement has it in its midst
  AddModelOptions(*command, &options->model, /*takes_argument=*/true);
  AddComputeOptions(*command, &options->model);
  AddBatchOptions(*command, &options->context);
  command
      ->add_option("-p,--n-prompt", options->prompts,
                   "Prompt lengths, e.g. 128,512 or 8-64*2; 0: none")
      ->type_name("LIST")
      ->capture_default_str();
  command->add_option("-n,--n-gen", options->gens, "Generation lengths, written as -p; 0: none")
      ->type_name("LIST")
      ->capture_default_str();
  command
      ->add_option("-d,--n-depth", options->depths,
                   "Tokens in the context before a test begins, written as -p")
      ->type_name("LIST")
      ->capture_default_str();
  command
      ->add_option("-t,--threads", options->threads,
                   "Thread counts, e.g. 1,2,4 or 1-4; 0: one per physical core")
      ->type_name("LIST")
      ->capture_default_str();
  command
      ->add_option("--prompt-and-gen", options->pairs,
                   "Also measure a prompt and a generation behind it together; may be repeated")
      ->type_name("PROMPT,GEN")
      ->allow_extra_args(false);
  command
      ->add_option("--parallel", options->parallel,
                   "Sequences at the same time, e.g. 1,2,4: shows the columns of "
                   "llama-batched-bench, with -p 128 -n 64 if not given")
      ->type_name("LIST");
  command->add_option("-r,--repetitions", options->repetitions, "How often each test is run")
      ->type_name("N")
      ->check(WholeNumber(1))
      ->capture_default_str();
  command->add_option("-o,--output", options->format, "Output: md, csv, json or jsonl")
      ->type_name("FORMAT")
      ->transform(OneOf({std::begin(bench::kBenchFormats), std::end(bench::kBenchFormats)}))
      ->capture_default_str();
  command
      ->add_flag("--warmup,!--no-warmup", options->warmup,
                 "Run each test once before it is measured")
      ->default_str("on");
  AddBenchExtras(*command, options.get());
  command->footer(kBenchExamples);
  AddForceOption(*command);
  command->callback([options, exit_code] { *exit_code = BenchCommand(*options); });
}

}  // namespace bittern::cli
