// SPDX-License-Identifier: Apache-2.0
// `bittern bench`: tokens per second of reading (pp512: a prompt of 512 random tokens) and of
// writing (tg128: 128 single steps from an empty context), measured as llama-bench does.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/files/atomic_file.hpp"
#include "cli/batch/bench_parallel.hpp"
#include "cli/bench/bench_analysis.hpp"
#include "cli/bench/bench_html.hpp"
#include "cli/bench/bench_lists.hpp"
#include "cli/bench/bench_report.hpp"
#include "cli/bench/bench_subject.hpp"
#include "cli/commands.hpp"
#include "cli/options/model_options.hpp"
#include "cli/options/outputs.hpp"
#include "cli/output.hpp"
#include "cli/terminal.hpp"
#include "kernels/registry.hpp"
#include "model/weights.hpp"
#include "runtime/machine_probe.hpp"
#include "runtime/sampling/sampler_steps.hpp"

namespace bittern::cli {
namespace {

using runtime::Session;
using runtime::TokenId;

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

struct Plan {
  std::vector<std::int32_t> prompts, gens, depths, threads;
  std::vector<std::pair<int, int>> pairs;  ///< prompt and generation in one test

  /// Tokens that the largest test needs room for.
  [[nodiscard]] int context_length() const {
    int test = std::max(*std::ranges::max_element(prompts), *std::ranges::max_element(gens) + 1);
    for (const auto& [prompt, gen] : pairs) test = std::max(test, prompt + gen);
    return std::max(1, test) + *std::ranges::max_element(depths);
  }
};

/// What can be told without a model.
Result<Plan> ParsePlan(const BenchOptions& options) {
  BITTERN_TRY(CheckContextOptions(options.context));
  Plan plan;
  plan.prompts = BITTERN_TRY(ParseNumberList(options.prompts, "-p"));
  plan.gens = BITTERN_TRY(ParseNumberList(options.gens, "-n"));
  plan.depths = BITTERN_TRY(ParseNumberList(options.depths, "-d"));
  plan.threads = BITTERN_TRY(ParseNumberList(options.threads, "-t"));
  for (const std::string& pair : options.pairs) {
    plan.pairs.push_back(BITTERN_TRY(ParsePromptAndGen(pair, "-pg")));
  }
  const int most = *std::ranges::max_element(plan.threads);
  if (most <= ThreadPool::kMaxThreads) return plan;
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("-t: 0 to {} expected, {} found", ThreadPool::kMaxThreads, most));
}

Result<void> CheckLimit(const std::vector<std::int32_t>& numbers, std::string_view flag,
                        int limit) {
  const int most = *std::ranges::max_element(numbers);
  if (most <= limit) return {};
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("{}: 0 to {} expected with this model, {} found", flag, limit, most));
}

/// Whether every test fits into the model's context.
Result<void> CheckPlan(const Plan& plan, int context_length) {
  BITTERN_TRY(CheckLimit(plan.prompts, "-p", context_length));
  BITTERN_TRY(CheckLimit(plan.gens, "-n", context_length - 1));
  BITTERN_TRY(CheckLimit(plan.depths, "-d", context_length));
  for (const auto& [prompt, gen] : plan.pairs) {
    if (prompt <= context_length - gen) continue;
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("-pg: at most {} tokens together expected with this model, {},{} found",
                            context_length, prompt, gen));
  }
  if (plan.context_length() <= context_length) return {};
  return Fail(
      ErrorCode::kInvalidArgument,
      fmt::format("-d: a test after {} tokens needs a context of {}, the model has {}",
                  *std::ranges::max_element(plan.depths), plan.context_length(), context_length));
}

/// The same ids each time; the values do not matter, only that they are not all one.
std::vector<TokenId> RandomIds(int count, int vocab_size) {
  std::uint64_t state = 1;
  std::vector<TokenId> ids(static_cast<std::size_t>(count));
  for (TokenId& id : ids) {
    id = static_cast<TokenId>(runtime::NextRandom(&state) % static_cast<std::uint64_t>(vocab_size));
  }
  return ids;
}

/// Greedy, `max_tokens` tokens whatever they are, drafting nothing.
runtime::GenerateOptions GreedyRun(int max_tokens) {
  return {.max_tokens = max_tokens,
          .sampler = {.temperature = 0},
          .ignore_eos = true,
          .speculation = runtime::Speculation::kOff};
}

/// Up to the choice of the first new token.
Result<void> RunPrompt(Session* session, int count) {
  const auto& config = session->model().model.config();
  return session->PrefillFor(RandomIds(count, config.vocab_size), GreedyRun(1));
}

/// The token a generation starts from, run through the model.
Result<void> StartGeneration(Session* session) {
  const TokenId id = std::max(session->model().tokenizer.bos_id(), 0);
  return session->PrefillFor({&id, 1}, GreedyRun(0));
}

/// `count` runs of the model of one token each.
Result<void> RunGeneration(Session* session, int count) {
  BITTERN_TRY(session->Generate(GreedyRun(count + 1), {}));  // the last one is not run
  return {};
}

Result<void> RunTest(Session* session, int num_prompt, int num_gen) {
  if (num_prompt > 0) BITTERN_TRY(RunPrompt(session, num_prompt));
  return num_gen > 0 ? RunGeneration(session, num_gen) : Result<void>{};
}

/// Forgets the repetition before, down to the tokens that the test stands behind.
Result<void> Prepare(Session* session, const BenchResult& test) {
  session->Truncate(test.depth);
  return test.is_decode() ? StartGeneration(session) : Result<void>{};
}

Result<std::uint64_t> Measure(Session* session, const BenchResult& test) {
  BITTERN_TRY(Prepare(session, test));
  const auto start = std::chrono::steady_clock::now();
  BITTERN_TRY(RunTest(session, test.num_prompt, test.num_gen));
  const auto elapsed = std::chrono::steady_clock::now() - start;
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(elapsed).count());
}

Result<void> MeasureAll(Session* session, const BenchOptions& options, BenchResult* test) {
  ProgressLine progress;
  const std::string name = TestName(*test);
  if (options.warmup) {
    progress.Show(fmt::format("{} with {} threads: warm-up", name, test->num_threads));
    BITTERN_TRY(Prepare(session, *test));
    BITTERN_TRY(RunTest(session, test->num_prompt, std::min(test->num_gen, 1)));
  }
  auto meter = options.measures_machine() ? runtime::EnergyMeter::Open() : std::nullopt;
  for (int i = 1; i <= options.repetitions; ++i) {
    progress.Show(fmt::format("{} with {} threads: {} of {}", name, test->num_threads, i,
                              options.repetitions));
    test->samples_ns.push_back(BITTERN_TRY(Measure(session, *test)));
  }
  test->joules = meter.has_value() ? meter->Take() : std::nullopt;
  return {};
}

/// The tokens that tests stand behind.
Result<void> Fill(Session* session, int depth) {
  ProgressLine progress;
  progress.Show(fmt::format("reading the {} tokens before the tests", depth));
  return RunPrompt(session, depth);
}

/// The rulers of a thread count, before its tests.
Result<MachineFigures> MeasureMachine(int num_threads, const kernels::Kernels& kernels) {
  ProgressLine progress;
  progress.Show(fmt::format("measuring memory and arithmetic with {} threads", num_threads));
  auto pool = BITTERN_TRY(ThreadPool::Create(num_threads));
  const double bandwidth = BITTERN_TRY(runtime::MeasureReadBandwidth(pool, runtime::ProbeBytes()));
  const double rate = BITTERN_TRY(runtime::MeasureInt8Rate(pool, kernels.tile16()));
  return MachineFigures{bandwidth, rate};
}

/// What the tests of a run share, and where their results go.
struct BenchRun {
  std::shared_ptr<const runtime::LoadedModel> model;
  std::unique_ptr<BenchReport> report;
  StandardOutput* out;
  std::vector<BenchResult> results = {};
};

/// What to know before comparing this figure with another; "" where there is nothing.
std::string HeldUpNotice(const BenchResult& test) {
  if (test.threads_used > 0.99 * test.num_threads) return {};
  return fmt::format(
      "notice: {}: other programs were using the CPUs: {:.1f} of {} threads ran on average, so "
      "expect "
      "higher figures on an idle machine\n",
      TestName(test), test.threads_used, test.num_threads);
}

/// The tests of one thread count, reported as they end.
Result<void> RunTests(const BenchOptions& options, const Plan& plan, int num_threads,
                      BenchRun* run) {
  auto session_options = BITTERN_TRY(ToSessionOptions(options.context, num_threads, *run->model));
  // No more room than needed: a large cache would only cost memory.
  session_options.context_length = plan.context_length();
  auto session = BITTERN_TRY(Session::Create(run->model, session_options));
  const model::Model& model = run->model->model;
  BenchResult test = {.num_threads = session.num_threads(),
                      .batch_size = options.context.batch_size,
                      .ubatch_size = options.context.ubatch_size,
                      .kv_type = options.context.type_k};
  if (options.measures_machine()) {
    test.machine = BITTERN_TRY(MeasureMachine(session.num_threads(), *model.weights().kernels));
  }
  const auto measure = [&](int num_prompt, int num_gen) -> Result<void> {
    if (num_prompt + num_gen == 0) return {};
    test.num_prompt = num_prompt;
    test.num_gen = num_gen;
    test.samples_ns.clear();
    const PassCounts before = session.pass_counts();
    BITTERN_TRY(MeasureAll(&session, options, &test));
    test.threads_used = (session.pass_counts() - before).mean_threads(test.num_threads);
    PrintError("{}", HeldUpNotice(test));
    test.cost = runtime::CostOfToken(model, test.context(), session_options.kv_type,
                                     session.screen_stats(), session.skip_stats());
    run->out->Write(run->report->Row(test));
    run->results.push_back(test);
    return {};
  };
  for (const int depth : plan.depths) {
    session.Truncate(0);
    if (depth > 0) BITTERN_TRY(Fill(&session, depth));
    test.depth = depth;
    for (const int num_prompt : plan.prompts) BITTERN_TRY(measure(num_prompt, 0));
    for (const int num_gen : plan.gens) BITTERN_TRY(measure(0, num_gen));
    for (const auto& [num_prompt, num_gen] : plan.pairs) BITTERN_TRY(measure(num_prompt, num_gen));
  }
  return {};
}

/// Returns the page of --html; empty if none was asked for.
Result<std::string> Bench(const BenchOptions& options, StandardOutput* out) {
  const Plan plan = BITTERN_TRY(ParsePlan(options));
  const auto model = BITTERN_TRY(LoadModel(options.model, 0));
  NoticeUnreadOverrides(options.model.overrides, model->model.checkpoint().metadata());
  BITTERN_TRY(CheckPlan(plan, model->model.config().context_length));
  const auto kv_type = BITTERN_TRY(ToSessionOptions(options.context, 0, *model)).kv_type;
  const BenchSubject subject = BITTERN_TRY(DescribeSubject(*model, kv_type));
  BenchRun run{model, MakeBenchReport(options.format, subject, options.extras), out};
  out->Write(run.report->Begin());
  for (const int num_threads : plan.threads) {
    BITTERN_TRY(RunTests(options, plan, num_threads, &run));
  }
  out->Write(run.report->End());
  if (options.html.empty()) return std::string();
  return BenchHtml(subject, options.extras, run.results);
}

/// The one number that -np takes from a list flag; what is not given is as in llama-batched-bench.
Result<int> OneNumber(const std::string& text, std::string_view flag, const std::string& untouched,
                      int otherwise) {
  if (text == untouched) return otherwise;
  const auto numbers = BITTERN_TRY(ParseIntegers(text, flag));
  if (numbers.size() == 1 && numbers[0] >= 1) return numbers[0];
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("{}: with -np one number of 1 or more expected, {} found", flag, text));
}

/// bench -np: many sequences at a time.
Result<void> BenchManySequences(const BenchOptions& options, StandardOutput* out) {
  const auto counts = BITTERN_TRY(ParseNumberList(options.parallel, "-np"));
  for (const std::int32_t count : counts) {
    if (count >= 1 && count <= 4096) continue;
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("-np: 1 to 4096 sequences expected, {} found", count));
  }
  const BenchOptions defaults;
  ParallelBench bench;
  bench.num_prompt = BITTERN_TRY(OneNumber(options.prompts, "-p", defaults.prompts, 128));
  bench.num_gen = BITTERN_TRY(OneNumber(options.gens, "-n", defaults.gens, 64));
  const int threads = options.threads == defaults.threads
                          ? 0
                          : BITTERN_TRY(OneNumber(options.threads, "-t", defaults.threads, 1));
  bench.counts = counts;
  bench.json_lines = options.format == "json" || options.format == "jsonl";
  const auto model = BITTERN_TRY(LoadModel(options.model, threads));
  const int limit = model->model.config().context_length;
  if (bench.num_gen < 2 || bench.num_prompt > limit - bench.num_gen) {
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("-p and -n: 2 generated tokens at least and {} in all at most expected, "
                    "{} and {} found",
                    limit, bench.num_prompt, bench.num_gen));
  }
  const auto session = BITTERN_TRY(ToSessionOptions(options.context, threads, *model));
  bench.engine = {.kv_type = session.kv_type,
                  .batch_size = session.batch_size,
                  .num_threads = session.num_threads};
  return RunParallelBench(model, bench, out);
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
      ->transform(OneOf({std::begin(kBenchFormats), std::end(kBenchFormats)}))
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
