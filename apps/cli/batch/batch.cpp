// SPDX-License-Identifier: Apache-2.0
// `bittern batch`: many requests from a file, many at a time, a share of them, and shares made one.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/threads/thread_pool.hpp"
#include "cli/options/model_options.hpp"
#include "cli/options/outputs.hpp"
#include "cli/options/sampler_options.hpp"
#include "cli/options/sampling_options.hpp"
#include "cli/shared/commands.hpp"
#include "cli/shared/interrupt.hpp"
#include "cli/shared/terminal.hpp"
#include "cli/shared/wording.hpp"
#include "model/load/fingerprint.hpp"
#include "request/batch/batch_run.hpp"
#include "request/batch/merge_parts.hpp"
#include "request/batch/shard.hpp"
#include "request/options/choice_names.hpp"
#include "request/settings.hpp"
#include "runtime/chat/chat_prompt.hpp"
#include "runtime/engine/cache_size.hpp"
#include "runtime/sampling/sampler.hpp"

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
"choices". The same line gives the same result, whatever runs beside it.

Several machines:
  bittern batch in.jsonl --shard 1/2 -o part1.jsonl   # lines 1, 3, 5, ...
  bittern batch in.jsonl --shard 2/2 -o part2.jsonl   # lines 2, 4, 6, ...
  bittern batch in.jsonl --merge part1.jsonl part2.jsonl -o out.jsonl)";

struct BatchOptions {
  const CLI::App* command = nullptr;  // which knows what was given
  ModelOptions model;
  ContextOptions context;
  runtime::GenerateOptions generate = {.max_tokens = 128, .sampler = {.seed = 0}};
  std::string input, output = "-";
  int num_threads = 0;
  int parallel = 32;
  int cache_mib = static_cast<int>(runtime::kDefaultCacheBytes >> 20);
  bool resume = false, unordered = false, timings = false;
  std::optional<request::Shard> shard;
  std::vector<std::string> parts;  // of --merge
};

/// All that decides the results of a shard beside its lines.
Result<request::PartHead> PartHeadOf(const BatchOptions& options, const request::LineSource& lines,
                                     const runtime::LoadedModel& model,
                                     const runtime::GenerateOptions& defaults,
                                     const runtime::EngineOptions& engine) {
  auto pool = BITTERN_TRY(
      ThreadPool::Create(options.num_threads > 0 ? options.num_threads : DefaultThreadCount()));
  auto print = BITTERN_TRY(model::FingerprintOf(model.model, pool));
  Json settings = request::SettingsOf(defaults);
  settings["logprobs"] = defaults.logprobs;
  settings["special"] = defaults.render_special;
  settings["timings"] = options.timings;
  settings["context_length"] = engine.context_length;
  settings["kv_type"] = request::ChoiceNameOf(request::kKvTypes, engine.kv_type);
  settings["overrides"] = options.model.overrides;
  return request::PartHead{.shard = *options.shard,
                           .lines = lines.total(),
                           .input = lines.hash(),
                           .model = std::move(print.hash),
                           .settings = std::move(settings)};
}

Result<int> RunBatch(const BatchOptions& options) {
  BITTERN_TRY(runtime::Sampler::Create(options.generate.sampler));
  auto lines = BITTERN_TRY(request::LineSource::Open(options.input));
  if (options.shard && lines.hash().empty()) {
    return Fail(ErrorCode::kInvalidArgument,
                "--shard: a file of lines expected, standard input found: its number of lines is "
                "not known before its end");
  }
  const auto model = BITTERN_TRY(LoadModel(options.model, options.num_threads));
  const auto& metadata = model->model.checkpoint().metadata();
  runtime::GenerateOptions defaults = options.generate;
  TakeSamplingDefaults(*options.command, metadata, options.model.verbose, &defaults.sampler);
  for (std::string& stop : defaults.stops) stop = Unescape(stop);
  Decisions decisions;
  const auto prompt = runtime::ChatPrompt::Create(metadata, model->tokenizer, "", &decisions);
  const request::Target target{.model = model.get(),
                               .chat = prompt ? &*prompt : nullptr,
                               .why_no_chat = prompt ? nullptr : &prompt.error()};
  const auto session = BITTERN_TRY(ToSessionOptions(options.context, options.num_threads, *model));
  const auto engine_options =
      BITTERN_TRY(runtime::EngineFor(model->model.config(), session, options.parallel,
                                     static_cast<std::size_t>(options.cache_mib) << 20));
  std::optional<request::PartHead> part;
  if (options.shard) {
    part = BITTERN_TRY(PartHeadOf(options, lines, *model, defaults, engine_options));
  }
  auto engine = BITTERN_TRY(runtime::Engine::Create(model, engine_options));
  ProgressLine progress;
  request::BatchRun run({.output = options.output,
                         .parallel = options.parallel,
                         .resume = options.resume,
                         .unordered = options.unordered,
                         .part = std::move(part),
                         .timings = options.timings,
                         .cancel = &CatchInterrupt(),
                         .on_progress = [&](std::string_view text) { progress.ShowIfSlow(text); }},
                        std::move(engine), target, std::move(defaults), std::move(lines));
  BITTERN_TRY(run.Open());
  const auto done = run.Run();
  progress.Clear();
  BITTERN_TRY(done);
  for (const std::string& line : run.Summary()) PrintRemark("{}\n", line);
  if (!CatchInterrupt().load()) return 0;
  PrintError("interrupted: --resume goes on where this stopped\n");
  return kExitInterrupted;
}

/// --merge: no model is read.
Result<int> RunMerge(const BatchOptions& options) {
  const std::size_t results =
      BITTERN_TRY(request::MergeParts(options.parts, options.input, options.output));
  PrintRemark("{} results of {} parts\n", results, options.parts.size());
  return 0;
}

int BatchCommand(const BatchOptions& options) {
  if (options.parts.empty() && options.input.empty()) throw CLI::RequiredError("IN");
  const Result<int> exit_code = options.parts.empty() ? RunBatch(options) : RunMerge(options);
  return exit_code ? *exit_code : ReportOutput(exit_code.error(), options.output);
}

/// --shard, --merge.
void AddPartOptions(CLI::App& command, BatchOptions* options) {
  CLI::Option* const shard =
      command
          .add_option_function<std::string>(
              "--shard",
              [options](const std::string& text) {
                auto read = request::ParseShard(text);
                if (!read) throw CLI::ValidationError("--shard", read.error().message);
                options->shard = *read;
              },
              "Run only every Nth line, beginning with line I, and write a part for --merge")
          ->type_name("I/N")
          ->excludes("--unordered");
  command
      .add_option("--merge", options->parts,
                  "Make one file of the parts of all shards; IN: compare them with it, too")
      ->check(PlainFile())
      ->type_name("PART...")
      ->excludes(shard)
      ->excludes("--resume")
      ->excludes("--unordered")
      ->excludes("--timings");
}

}  // namespace

void AddBatch(CLI::App& app, int* exit_code) {
  CLI::App* command = app.add_subcommand("batch", "Run many requests from a file of JSON lines");
  command->footer(kBatchExample);
  const auto options = std::make_shared<BatchOptions>();
  options->command = command;
  command->add_option("input", options->input, "File of JSON lines; -: standard input")
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
  AddPartOptions(*command, options.get());
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
