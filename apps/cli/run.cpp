// SPDX-License-Identifier: Apache-2.0
// `bittern run`: continues a text, as it is made, on standard output. Everything else (notices,
// decisions, timings) goes to standard error, so that the text can be piped.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "base/json/json.hpp"
#include "cli/options/constraint_options.hpp"
#include "cli/options/model_options.hpp"
#include "cli/options/sampler_options.hpp"
#include "cli/options/sampling_options.hpp"
#include "cli/shared/commands.hpp"
#include "cli/shared/interrupt.hpp"
#include "cli/shared/output.hpp"
#include "cli/shared/terminal.hpp"
#include "cli/shared/wording.hpp"
#include "report/run_report.hpp"
#include "report/timings.hpp"
#include "runtime/sampling/loop_detector.hpp"
#include "runtime/sampling/sampler.hpp"

namespace bittern::cli {
namespace {

constexpr const char* kRunExamples = R"(Examples:
  bittern run -p "A tern is"
  bittern run model.gguf -p "Once upon a time" -n 200 --temp 0
  bittern run -m model.gguf -f chapter.txt -n -1 --json

To ask a question use `bittern chat`. The text goes to standard output, all else to standard
error.)";

struct RunOptions {
  const CLI::App* command = nullptr;  // which knows what was given
  ModelOptions model;
  ContextOptions context;
  PromptOptions prompt;
  runtime::GenerateOptions generate = {.max_tokens = 128};
  int num_threads = 0;
  bool no_display_prompt = false;
  bool json = false;
};

using Run = report::RunReport;

/// Prompt and continuation, streamed to `out` unless the end will be one JSON object.
Result<Run> Generate(const RunOptions& options, StandardOutput* out) {
  // Wrong values are told before a large model is loaded.
  BITTERN_TRY(runtime::Sampler::Create(options.generate.sampler));
  BITTERN_TRY(CheckContextOptions(options.context));
  if (options.generate.logprobs >= 0 && !options.json) {
    return Fail(ErrorCode::kInvalidArgument, "--logprobs: it is written with --json only");
  }
  const Prompt prompt = BITTERN_TRY(ReadPrompt(options.prompt));
  auto model = BITTERN_TRY(LoadModel(options.model, options.num_threads));
  Run run{.model = std::move(model)};
  const tokenizer::Tokenizer& tokenizer = run.model->tokenizer;
  run.prompt_ids = BITTERN_TRY(EncodePrompt(prompt, tokenizer));
  const auto session_options =
      BITTERN_TRY(ToSessionOptions(options.context, options.num_threads, *run.model));
  auto session = BITTERN_TRY(runtime::Session::Create(run.model, session_options));
  if (options.model.verbose) {
    const std::string isa = BITTERN_TRY(IsaInUse());
    PrintRemark("system: n_threads = {} | n_ctx = {} | isa = {}\n", session.num_threads(),
                session.context_length(), isa);
  }
  runtime::GenerateOptions generate = options.generate;
  TakeSamplingDefaults(*options.command, run.model->model.checkpoint().metadata(),
                       options.model.verbose, &generate.sampler);
  NoticeUnreadOverrides(options.model.overrides, run.model->model.checkpoint().metadata());
  generate.cancel = &CatchInterrupt();
  if (!options.prompt.no_escape) {
    for (std::string& stop : generate.stops) stop = Unescape(stop);
  }
  ProgressLine progress;
  generate.on_prompt = [&](double read) {
    progress.ShowIfSlow(fmt::format("reading the prompt: {:.0f} %", 100 * read));
  };
  BITTERN_TRY(session.PrefillFor(run.prompt_ids, generate));
  progress.Clear();
  const auto show = [&](std::string_view text) { return options.json || out->Write(text); };
  if (!options.no_display_prompt) {
    show(tokenizer.Decode(run.prompt_ids, generate.render_special));
  }
  run.result = BITTERN_TRY(session.Generate(generate, show));
  run.with_logprobs = generate.logprobs >= 0;
  run.timings = session.timings();
  run.savings = report::SavingsOf(session);
  run.threads = session.num_threads();
  run.threads_used = session.pass_counts().mean_threads(run.threads);
  return run;
}

/// Why there is less text than was asked for, where that is not plain to see.
void NoticeEnd(const runtime::GenerateResult& result, const runtime::GenerateOptions& asked) {
  if (result.cut) {
    const bool by_length = result.finish == runtime::FinishReason::kLength;
    PrintRemark("notice: {} is not whole: it ends after {} tokens{}\n",
                NameOfConstrained(asked.constraint), result.ids.size(),
                by_length ? "; -n N allows more" : "");
  }
  if (!result.cut && result.finish == runtime::FinishReason::kLength &&
      runtime::LoopDetector::EndsInLoop(result.ids)) {
    PrintRemark("notice: the text repeats itself; {}\n", kOutOfLoop);
  }
  if (result.finish == runtime::FinishReason::kContextFull) {
    PrintRemark("notice: the context is full\n");
  }
  if (result.finish == runtime::FinishReason::kLoop) {
    PrintRemark("notice: stopped because the text repeats itself\n");
  }
  if (result.finish == runtime::FinishReason::kEndOfText && result.ids.empty()) {
    PrintRemark(
        "notice: the model ended the text right here. To ask a question use `bittern chat`; to "
        "continue anyway add --ignore-eos.\n");
  }
}

/// Ends the text with a newline, then writes timings to standard error. Text that was interrupted
/// is a success that ends early, told by the exit code alone.
int RunCommand(const RunOptions& options) {
  StandardOutput out;
  const Result<Run> run = Generate(options, &out);
  if (!run.has_value()) return Report(run.error());
  Decisions decisions = run->model->decisions;
  WordDecisions(&decisions);
  out.Write(options.json ? report::RunJson(*run, decisions).Dump() + '\n' : "\n");
  if (const Result<void> written = out.Status(); !written.has_value()) {
    return Report(written.error(), kExitRuntime);
  }
  if (!options.json) {
    NoticeEnd(run->result, options.generate);
    PrintRemark("\n{}", report::TimingsFooter(run->timings, run->model->load_s));
    if (options.model.verbose) {
      PrintRemark("{}{}", report::SpeculationLine(run->timings),
                  report::SavingsLines(run->savings));
      PrintRemark(
          "{:>16} = {:.1f} of {} on average{}\n", "threads", run->threads_used, run->threads,
          run->threads_used < 0.99 * run->threads ? " (CPUs shared with other programs)" : "");
    }
  }
  const bool interrupted =
      run->result.finish == runtime::FinishReason::kCancelled && CatchInterrupt().load();
  return interrupted ? kExitInterrupted : run->result.cut ? kExitCut : 0;
}

}  // namespace

void AddRun(CLI::App& app, int* exit_code) {
  CLI::App* command = app.add_subcommand("run", "Continue a text");
  const auto options = std::make_shared<RunOptions>();
  options->command = command;
  AddModelOptions(*command, &options->model, /*takes_argument=*/true);
  AddComputeOptions(*command, &options->model);
  AddPromptOptions(*command, &options->prompt);
  AddThreadsOption(*command, &options->num_threads);
  AddContextOptions(*command, &options->context);
  AddSamplingOptions(*command, &options->generate);
  command->add_flag("--no-display-prompt", options->no_display_prompt,
                    "Print the new text only, without the prompt before it");
  command->add_flag("--json", options->json, "Print one JSON object instead of text");
  AddLogprobsOption(*command, &options->generate);
  command->footer(kRunExamples);
  command->callback([options, exit_code] { *exit_code = RunCommand(*options); });
}

}  // namespace bittern::cli
