// SPDX-License-Identifier: Apache-2.0
// `bittern batch`: many requests from a file, many at a time. Lines are read as the engine takes
// them, and results written in the order of the lines (or as they come), so memory does not grow
// with the file.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>

#include "base/files/results_file.hpp"
#include "cli/commands.hpp"
#include "cli/interrupt.hpp"
#include "cli/options/model_options.hpp"
#include "cli/options/outputs.hpp"
#include "cli/options/sampler_options.hpp"
#include "cli/options/sampling_options.hpp"
#include "cli/options/wording.hpp"
#include "cli/terminal.hpp"
#include "request/answer_json.hpp"
#include "request/batch_line.hpp"
#include "runtime/chat/chat_prompt.hpp"
#include "runtime/engine/cache_size.hpp"

namespace bittern::cli {
namespace {

constexpr const char* kBatchExample = R"(Example:
  printf '{"id": "a", "prompt": "A tern is", "n_predict": 20}\n' > in.jsonl
  bittern batch in.jsonl -o out.jsonl

A line in is the body of a request to the server with an "id" beside it: {"id", "prompt" |
"prompt_ids" | "messages", "n_predict", "temperature", "seed", "stop", "logprobs", "tools",
"response_format", "n", ...} (docs/sampling.md, docs/serving.md); OpenAI's batch lines are read,
too. Flags give the values that a line leaves open. A line out has "id", "ids", "text",
"finish_reason", "prompt_tokens" and "seed", or "id" and "error"; with several answers also
"choices". The same line gives the same result, whatever runs beside it.)";

struct BatchOptions {
  const CLI::App* command = nullptr;  // which knows what was given
  ModelOptions model;
  ContextOptions context;
  runtime::GenerateOptions generate = {.max_tokens = 128, .sampler = {.seed = 0}};
  std::string input, output = "-";
  int num_threads = 0;
  int parallel = 32;
  int cache_mib = 2048;
  bool resume = false, unordered = false, timings = false;
};

/// The lines of a file or of standard input, without blank ones.
class LineSource {
 public:
  [[nodiscard]] static Result<LineSource> Open(const std::string& path) {
    LineSource source;
    if (path == "-") return source;
    source.file_ = std::make_unique<std::ifstream>(path, std::ios::binary);
    if (!*source.file_) {
      return Fail(ErrorCode::kInvalidArgument, fmt::format("{}: cannot be read", path));
    }
    std::string line;
    while (std::getline(*source.file_, line)) source.total_ += IsBlank(line) ? 0 : 1;
    source.file_->clear();
    source.file_->seekg(0);
    return source;
  }

  /// False at the end.
  bool Next(std::string* line) {
    std::istream& in = file_ ? *file_ : std::cin;
    while (std::getline(in, *line)) {
      if (IsBlank(*line)) continue;
      ++number_;
      return true;
    }
    return false;
  }
  [[nodiscard]] std::size_t number() const noexcept { return number_; }  ///< of the last line
  /// Lines in all; 0: not known.
  [[nodiscard]] std::size_t total() const noexcept { return total_; }

 private:
  static bool IsBlank(std::string_view line) {
    return line.find_first_not_of(" \t\r") == std::string_view::npos;
  }

  std::unique_ptr<std::ifstream> file_;
  std::size_t number_ = 0, total_ = 0;
};

/// Feeds the engine and writes what it gives.
class BatchRun {
 public:
  BatchRun(const BatchOptions& options, runtime::Engine engine, const request::Target& target,
           runtime::GenerateOptions defaults, LineSource lines)
      : options_(options),
        engine_(std::move(engine)),
        target_(target),
        defaults_(std::move(defaults)),
        lines_(std::move(lines)) {}

  Result<void> Open() {
    const auto on_line = [&](std::string_view line, bool is_whole) {
      if (!is_whole) return request::BeginsBatchResult(line);
      const auto name = request::NameOfBatchResult(line);
      if (!name) return false;
      ++resumed_;
      if (name->number) {
        had_lines_[*name->number] = name->id;
      } else {
        ++had_[name->id];
      }
      return true;
    };
    results_ = BITTERN_TRY(ResultsFile::Open(options_.output, options_.resume, on_line));
    return {};
  }
  /// Error kIo: results cannot be written.
  Result<void> Run();
  void Report() const;

 private:
  /// A line whose sequences run.
  struct Job {
    std::size_t place = 0;
    request::BatchResultName name;
    request::TextRequest request = {};
    std::vector<runtime::GenerateResult> results = {};  // of each sequence
    runtime::SequenceTimings timings = {};              // of the first one
    std::size_t left = 0;
    std::optional<Error> error = {};
    bool cancelled = false;
  };

  void Feed();
  /// True if the file to resume has the result of this line.
  [[nodiscard]] bool IsThere(const request::BatchLine& read);
  /// Submits the sequences of a line.
  void Start(const std::shared_ptr<Job>& job);
  void TakeSequence(Job* job, std::size_t index, runtime::Completion completion);
  void Finish(const Job& job);
  void ShowProgress();
  [[nodiscard]] double Seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  const BatchOptions& options_;
  runtime::Engine engine_;
  request::Target target_;
  runtime::GenerateOptions defaults_;
  LineSource lines_;
  std::optional<ResultsFile> results_;
  // What is in the file to resume: by line, and how often each id of results that tell none. Ids
  // may be equal; results without their lines are in the order of these, so the first are had.
  std::map<std::size_t, std::string> had_lines_;
  std::map<std::string, std::size_t> had_;
  std::map<std::size_t, std::string> held_;  // lines that wait for an earlier one, by place
  std::size_t next_place_ = 0, next_to_write_ = 0;
  bool at_end_ = false;
  Result<void> written_;
  std::size_t done_ = 0, failed_ = 0, resumed_ = 0, tokens_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  ProgressLine progress_;
};

bool BatchRun::IsThere(const request::BatchLine& read) {
  if (const auto line = had_lines_.find(lines_.number()); line != had_lines_.end()) {
    if (line->second == read.id) return true;
    written_ = Fail(ErrorCode::kInvalidArgument,
                    fmt::format("{}: it has the result of line {} of another input: the id \"{}\" "
                                "expected, \"{}\" found",
                                options_.output, lines_.number(), read.id, line->second));
    return true;
  }
  const auto had = had_.find(read.id);
  if (had == had_.end() || had->second == 0) return false;
  --had->second;
  return true;
}

/// Submits lines until enough of them wait.
void BatchRun::Feed() {
  const std::size_t most = 2 * static_cast<std::size_t>(options_.parallel);
  std::string line;
  // Results that wait for an earlier line are bounded, too.
  while (written_ && !at_end_ && engine_.active() < most && held_.size() < 64 * most) {
    if (!lines_.Next(&line)) {
      at_end_ = true;
      return;
    }
    auto read = request::ReadBatchLine(line, lines_.number(), target_, defaults_);
    if (IsThere(read)) continue;
    const auto job = std::make_shared<Job>(Job{.place = next_place_++, .name = {.id = read.id}});
    if (options_.unordered) job->name.number = lines_.number();
    if (read.request) {
      job->request = *std::move(read.request);
      Start(job);
    } else {
      job->error = std::move(read.request).error();
      Finish(*job);
    }
  }
}

void BatchRun::Start(const std::shared_ptr<Job>& job) {
  const auto choices = static_cast<std::size_t>(job->request.choices);
  job->left = job->request.sequences();
  job->results.resize(job->left);
  for (std::size_t i = 0; i < job->results.size(); ++i) {
    runtime::Request sequence{.prompt = job->request.prompts[i / choices],
                              .options = request::OptionsOfChoice(job->request, i % choices)};
    sequence.options.cancel = &CatchInterrupt();
    sequence.on_done = [this, job, i](runtime::Completion completion) {
      TakeSequence(job.get(), i, std::move(completion));
    };
    if (const auto submitted = engine_.Submit(std::move(sequence)); !submitted) {
      TakeSequence(job.get(), i,
                   {.id = 0, .result = tl::unexpected(submitted.error()), .timings = {}});
    }
  }
}

void BatchRun::TakeSequence(Job* job, std::size_t index, runtime::Completion completion) {
  if (!completion.result) {
    job->error = std::move(completion.result).error();
  } else {
    job->cancelled |= completion.result->finish == runtime::FinishReason::kCancelled;
    job->results[index] = *std::move(completion.result);
  }
  if (index == 0) job->timings = completion.timings;
  if (--job->left == 0) Finish(*job);
}

void BatchRun::Finish(const Job& job) {
  if (job.cancelled || !written_) return;  // --resume runs it again
  ++done_;
  Json result;
  if (job.error) {
    ++failed_;
    result = {{"error", WordError(*job.error)}};
  } else {
    for (const runtime::GenerateResult& one : job.results) tokens_ += one.ids.size();
    result = request::AnswerJson(job.request, job.results, target_.tokenizer());
  }
  if (options_.timings) result["timings"] = request::TimingsJson(job.timings);
  held_[job.place] = request::WriteBatchLine(job.name, std::move(result));
  for (auto it = held_.begin();
       it != held_.end() && (options_.unordered || it->first == next_to_write_);
       it = held_.erase(it)) {
    written_ = results_->Write(it->second);
    if (!written_) return;
    ++next_to_write_;
  }
}

void BatchRun::ShowProgress() {
  const double seconds = Seconds();
  std::string text = fmt::format("{} done", resumed_ + done_);
  if (lines_.total() != 0) text += fmt::format(" of {}", lines_.total());
  if (failed_ != 0) text += fmt::format(", {} with errors", failed_);
  text += fmt::format(", {:.0f} tokens/s", static_cast<double>(tokens_) / std::max(seconds, 1e-3));
  if (lines_.total() > resumed_ + done_ && done_ > 0) {
    const double left = static_cast<double>(lines_.total() - resumed_ - done_);
    text += fmt::format(", {:.0f} s left", seconds * left / static_cast<double>(done_));
  }
  progress_.ShowIfSlow(text);
}

Result<void> BatchRun::Run() {
  auto shown = start_;
  Feed();
  while (written_ && engine_.Step()) {
    Feed();
    if (std::chrono::steady_clock::now() - shown > std::chrono::milliseconds(200)) {
      shown = std::chrono::steady_clock::now();
      ShowProgress();
    }
    if (CatchInterrupt().load()) at_end_ = true;
  }
  progress_.Clear();
  return written_;
}

void BatchRun::Report() const {
  const double seconds = Seconds();
  const runtime::PrefixCacheStats cache = engine_.stats().prefix_cache;
  PrintError("{} requests, {} with errors, {} tokens in {:.1f} s ({:.1f} tokens/s)\n", done_,
             failed_, tokens_, seconds, static_cast<double>(tokens_) / std::max(seconds, 1e-3));
  if (resumed_ != 0) PrintError("{} results were there already\n", resumed_);
  if (cache.found_tokens != 0) {
    PrintError("{:.0f} % of the prompt tokens were found in the prefix cache ({} pages, {} MiB)\n",
               100 * cache.hit_rate(), cache.pages, cache.bytes >> 20);
  }
}

Result<int> RunBatch(const BatchOptions& options) {
  BITTERN_TRY(runtime::Sampler::Create(options.generate.sampler));
  auto lines = BITTERN_TRY(LineSource::Open(options.input));
  const auto model = BITTERN_TRY(LoadModel(options.model, options.num_threads));
  const auto& metadata = model->model.checkpoint().metadata();
  runtime::GenerateOptions defaults = options.generate;
  TakeSamplingDefaults(*options.command, metadata, options.model.verbose, &defaults.sampler);
  for (std::string& stop : defaults.stops) stop = Unescape(stop);
  Decisions decisions;
  const auto prompt = runtime::ChatPrompt::Create(metadata, model->tokenizer, "", &decisions);
  const request::Target target{.model = model.get(),
                               .chat = prompt ? &*prompt : nullptr,
                               .why_no_chat = prompt ? nullptr : &prompt.error(),
                               .num_slots = options.parallel};
  const auto session = BITTERN_TRY(ToSessionOptions(options.context, options.num_threads, *model));
  const auto& config = model->model.config();
  const int context = session.context_length == 0 ? config.context_length : session.context_length;
  const int cache_tokens = BITTERN_TRY(
      runtime::CacheTokens(config, context, options.parallel,
                           static_cast<std::size_t>(options.cache_mib) << 20, session.kv_type));
  auto engine =
      BITTERN_TRY(runtime::Engine::Create(model, {.max_sequences = options.parallel,
                                                  .context_length = session.context_length,
                                                  .cache_tokens = cache_tokens,
                                                  .kv_type = session.kv_type,
                                                  .batch_size = session.batch_size,
                                                  .num_threads = options.num_threads}));
  (void)CatchInterrupt();
  BatchRun run(options, std::move(engine), target, std::move(defaults), std::move(lines));
  BITTERN_TRY(run.Open());
  BITTERN_TRY(run.Run());
  run.Report();
  if (!CatchInterrupt().load()) return 0;
  PrintError("interrupted: --resume goes on where this stopped\n");
  return kExitInterrupted;
}

int BatchCommand(const BatchOptions& options) {
  const Result<int> exit_code = RunBatch(options);
  return exit_code ? *exit_code : ReportOutput(exit_code.error(), options.output);
}

}  // namespace

void AddBatch(CLI::App& app, int* exit_code) {
  CLI::App* command = app.add_subcommand("batch", "Run many requests from a file of JSON lines");
  command->footer(kBatchExample);
  const auto options = std::make_shared<BatchOptions>();
  options->command = command;
  command->add_option("input", options->input, "File of JSON lines; -: standard input")
      ->required()
      ->type_name("IN");
  command->add_option("-o,--output", options->output, "File for the results; -: standard output")
      ->type_name("OUT")
      ->capture_default_str();
  command->add_option("--parallel", options->parallel, "Requests that run at the same time")
      ->check(WholeNumber(1))
      ->type_name("N")
      ->capture_default_str();
  command
      ->add_option("--cache-mib", options->cache_mib,
                   "Memory for keys and values of all requests, in MiB")
      ->check(WholeNumber(1))
      ->type_name("N")
      ->capture_default_str();
  command->add_flag("--resume", options->resume,
                    "Go on where an interrupted run stopped: keep the results that OUT has");
  command->add_flag("--unordered", options->unordered,
                    "Write results as they come, not in the order of the lines");
  command->add_flag("--timings", options->timings, "Add to each result how long it took");
  AddModelOptions(*command, &options->model, /*takes_argument=*/false);
  AddComputeOptions(*command, &options->model);
  AddThreadsOption(*command, &options->num_threads);
  AddContextOptions(*command, &options->context);
  AddSamplingOptions(*command, &options->generate);
  AddLogprobsOption(*command, &options->generate);
  AddForceOption(*command);
  command->callback([options, exit_code] { *exit_code = BatchCommand(*options); });
}

}  // namespace bittern::cli
