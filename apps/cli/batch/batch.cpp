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

#include "cli/batch/request.hpp"
#include "cli/batch/results_file.hpp"
#include "cli/commands.hpp"
#include "cli/interrupt.hpp"
#include "cli/options/model_options.hpp"
#include "cli/options/outputs.hpp"
#include "cli/options/sampler_options.hpp"
#include "cli/options/sampling_options.hpp"
#include "cli/terminal.hpp"
#include "runtime/chat/chat_prompt.hpp"
#include "runtime/engine/cache_size.hpp"

namespace bittern::cli {
namespace {

constexpr const char* kBatchExample = R"(Example:
  printf '{"id": "a", "prompt": "A tern is", "n_predict": 20}\n' > in.jsonl
  bittern batch in.jsonl -o out.jsonl

A line in: {"id", "prompt" | "prompt_ids" | "messages", "n_predict", "temperature", "top_k",
"top_p", "min_p", "seed", "stop", "logprobs", ...} (docs/sampling.md); OpenAI's batch lines are read,
too. Flags give the values that a line leaves open. A line out has "id", "ids",
"text", "finish_reason", "prompt_tokens" and "seed", or "id" and "error". The same line gives the
same result, whatever runs beside it.)";

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
  BatchRun(const BatchOptions& options, runtime::Engine engine, BatchDefaults defaults,
           LineSource lines)
      : options_(options),
        engine_(std::move(engine)),
        defaults_(std::move(defaults)),
        lines_(std::move(lines)) {}

  Result<void> Open() {
    const auto on_line = [&](std::string_view line, bool is_whole) {
      if (!is_whole) return BeginsBatchResult(line);
      const auto name = NameOfBatchResult(line);
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
  /// What is known of a result before it is there.
  struct About {
    BatchResultName name;
    std::size_t prompt_tokens = 0;
    bool with_logprobs = false;
  };

  void Feed();
  /// True if the file to resume has the result of this line.
  [[nodiscard]] bool IsThere(const BatchLine& read);
  void Finish(std::size_t place, const About& about, const Result<runtime::GenerateResult>& result,
              const runtime::SequenceTimings& timings);
  void ShowProgress();
  [[nodiscard]] double Seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  const BatchOptions& options_;
  runtime::Engine engine_;
  BatchDefaults defaults_;
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

bool BatchRun::IsThere(const BatchLine& read) {
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
    BatchLine read = ReadBatchLine(line, lines_.number(), defaults_, engine_.model().tokenizer);
    if (IsThere(read)) continue;
    const std::size_t place = next_place_++;
    About about{.name = {.id = read.id, .number = {}}};
    if (options_.unordered) about.name.number = lines_.number();
    if (!read.request) {
      Finish(place, about, tl::unexpected(read.request.error()), {});
      continue;
    }
    runtime::Request request = *std::move(read.request);
    request.options.cancel = &CatchInterrupt();
    about.prompt_tokens = request.prompt.size();
    about.with_logprobs = request.options.logprobs >= 0;
    request.on_done = [this, place, about](runtime::Completion completion) {
      Finish(place, about, completion.result, completion.timings);
    };
    if (const auto submitted = engine_.Submit(std::move(request)); !submitted) {
      Finish(place, about, tl::unexpected(submitted.error()), {});
    }
  }
}

void BatchRun::Finish(std::size_t place, const About& about,
                      const Result<runtime::GenerateResult>& result,
                      const runtime::SequenceTimings& timings) {
  const bool cancelled = result && result->finish == runtime::FinishReason::kCancelled;
  if (cancelled || !written_) return;  // --resume runs it again
  ++done_;
  failed_ += result ? 0 : 1;
  tokens_ += result ? result->ids.size() : 0;
  held_[place] = WriteBatchLine(about.name, about.prompt_tokens, about.with_logprobs, result,
                                engine_.model().tokenizer, options_.timings ? &timings : nullptr);
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
  BatchDefaults defaults{.generate = options.generate};
  TakeSamplingDefaults(*options.command, metadata, options.model.verbose,
                       &defaults.generate.sampler);
  for (std::string& stop : defaults.generate.stops) stop = Unescape(stop);
  Decisions decisions;
  const auto prompt = runtime::ChatPrompt::Create(metadata, model->tokenizer, "", &decisions);
  if (prompt) defaults.chat_prompt = &*prompt;
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
  BatchRun run(options, std::move(engine), std::move(defaults), std::move(lines));
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
