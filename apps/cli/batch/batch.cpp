// SPDX-License-Identifier: Apache-2.0
// `bittern batch`: many requests from a file, many at a time.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/options/model_options.hpp"
#include "cli/options/outputs.hpp"
#include "cli/options/sampler_options.hpp"
#include "cli/options/sampling_options.hpp"
#include "cli/shared/commands.hpp"
#include "cli/shared/interrupt.hpp"
#include "cli/shared/terminal.hpp"
#include "cli/shared/wording.hpp"
#include "request/batch/batch_run.hpp"
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

Result<int> RunBatch(const BatchOptions& options) {
  BITTERN_TRY(runtime::Sampler::Create(options.generate.sampler));
  auto lines = BITTERN_TRY(request::LineSource::Open(options.input));
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
  const auto engine_options =
      BITTERN_TRY(runtime::EngineFor(model->model.config(), session, options.parallel,
                                     static_cast<std::size_t>(options.cache_mib) << 20));
  auto engine = BITTERN_TRY(runtime::Engine::Create(model, engine_options));
  ProgressLine progress;
  request::BatchRun run({.output = options.output,
                         .parallel = options.parallel,
                         .resume = options.resume,
                         .unordered = options.unordered,
                         .timings = options.timings,
                         .cancel = &CatchInterrupt(),
                         .on_progress = [&](std::string_view text) { progress.ShowIfSlow(text); },
                         .word = WordError},
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
