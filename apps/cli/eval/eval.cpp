// SPDX-License-Identifier: Apache-2.0
// `bittern eval`: how well a model predicts a text, or answers multiple-choice questions.
#include <CLI/CLI.hpp>
#include <memory>

#include "base/json/json.hpp"
#include "cli/options/model_options.hpp"
#include "cli/options/outputs.hpp"
#include "cli/options/tabled_options.hpp"
#include "cli/shared/commands.hpp"
#include "cli/shared/interrupt.hpp"
#include "cli/shared/output.hpp"
#include "cli/shared/terminal.hpp"
#include "cli/shared/wording.hpp"
#include "eval/job/job.hpp"
#include "eval/job/summary_text.hpp"

namespace bittern::cli {
namespace {

struct EvalOptions {
  ModelOptions model;
  ContextOptions context;
  eval::JobOptions job;
  std::string as = "auto";  ///< or "text", "ids", "choices"
  int num_threads = 0, cache_mib = 1024;
  bool json = false;
};

constexpr const char* kEvalExample = R"(Examples:
  bittern eval wiki.test.raw -m model.gguf
  bittern eval text.txt -c 256 --every-token --json
  bittern eval arc.jsonl -m model.gguf -o answers.jsonl
  bittern eval text.txt -m model.gguf --kl-divergence-base there.kld
  bittern eval text.txt -m other.gguf --kl-divergence-base there.kld --kl-divergence

A text gives perplexity and bits per byte; without --every-token they are llama-perplexity's: windows
of -c tokens, of which the second half is scored. A .jsonl file has multiple-choice questions: lines
of ARC, HellaSwag, WinoGrande, PIQA, BoolQ and MMLU, samples logged by lm-evaluation-harness, or
{"query", "choices", "gold"}.)";

/// The kind of the file: as the flag says, else as its name says.
std::string KindOf(const EvalOptions& options) {
  if (options.as != "auto") return options.as;
  return options.job.input.ends_with(".jsonl") ? "choices" : "text";
}

/// The input without its last newline, which an editor put there.
Result<std::string> ReadEvalInput(const EvalOptions& options) {
  std::string text =
      BITTERN_TRY(options.job.input == "-" ? ReadStandardInput() : ReadFileText(options.job.input));
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

/// Scores the text or the questions and prints the summary. Ctrl-C cancels.
Result<int> RunEval(EvalOptions options) {
  std::string text = BITTERN_TRY(ReadEvalInput(options));
  options.as = KindOf(options);
  BITTERN_TRY(CheckContextOptions(options.context));
  const auto model = BITTERN_TRY(LoadModel(options.model, options.num_threads));
  NoticeUnreadOverrides(options.model.overrides, model->model.checkpoint().metadata());
  const auto session = BITTERN_TRY(ToSessionOptions(options.context, options.num_threads, *model));
  ProgressLine progress;
  options.job.ids = options.as == "ids";
  const eval::Job job{
      .options = options.job,
      .model = model,
      .text = std::move(text),
      .score = {.kv_type = session.kv_type,
                .batch_size = session.batch_size,
                .cache_mib = options.cache_mib,
                .num_threads = options.num_threads,
                .cancel = &CatchInterrupt()},
      .on_progress = [&](std::string_view what) { progress.ShowIfSlow(what); },
      .on_notice = [](std::string_view what) { PrintRemark("notice: {}\n", WordOptions(what)); }};
  if (options.as == "choices" && (!options.job.logits.empty() || options.job.compare_logits)) {
    return Fail(ErrorCode::kInvalidArgument, "--kl-divergence-base: goes with texts");
  }
  const auto result =
      BITTERN_TRY(options.as == "choices" ? eval::ScoreChoices(job) : eval::ScoreText(job));
  progress.Clear();
  StandardOutput output;
  if (options.json) {
    output.Write(result.Dump(2) + "\n");
  } else {
    output.Write(eval::SummaryText(result));
  }
  BITTERN_TRY(output.Status());
  return 0;
}

/// An interrupted run can go on where it was only if its lines went to a file.
int EvalCommand(const EvalOptions& options) {
  const Result<int> exit_code = RunEval(options);
  if (exit_code) return *exit_code;
  if (exit_code.error().code == ErrorCode::kCancelled) {
    PrintError("interrupted{}\n",
               options.job.output.empty() ? "" : ": --resume goes on where this stopped");
    return kExitInterrupted;
  }
  return ReportOutput(exit_code.error(), options.job.output);
}

/// The input and how it is cut; names and meanings follow llama-perplexity.
void AddEvalInput(CLI::App* command, EvalOptions* options) {
  command->add_option("file", options->job.input, "Text or questions; -: standard input")
      ->required()
      ->type_name("FILE");
  command
      ->add_option("--as", options->as,
                   "What FILE holds: text, ids (token ids), choices (questions); auto: "
                   "choices if its name ends with .jsonl, else text")
      ->type_name("KIND")
      ->transform(OneOf({"auto", "text", "ids", "choices"}))
      ->capture_default_str();
  AddTabled(*command, "window", &options->job.window);
  AddTabled(*command, "stride", &options->job.stride);
  AddTabled(*command, "every_token", &options->job.every_token);
  command
      ->add_option("--kl-divergence-base,--save-all-logits", options->job.logits,
                   "Saves the probabilities of all tokens, as llama-perplexity does; with "
                   "--kl-divergence: compares with those that were saved")
      ->type_name("FILE")
      ->check(PlainFile());
  command->add_flag("--kl-divergence", options->job.compare_logits,
                    "How far the model is from the saved probabilities");
  AddTabled(*command, "most", &options->job.most);
}

}  // namespace

void AddEval(CLI::App& app, int* exit_code) {
  CLI::App* command = app.add_subcommand("eval", "Measure how well a model knows a text");
  command->footer(kEvalExample);
  const auto options = std::make_shared<EvalOptions>();
  AddEvalInput(command, options.get());
  command->add_flag("--json", options->json, "Print one JSON object");
  command
      ->add_option("-o,--output", options->job.output,
                   "File for a JSON line for each window or question")
      ->type_name("OUT")
      ->check(PlainFile());
  command->add_flag("--resume", options->job.resume,
                    "Go on where an interrupted run stopped: keep the lines that OUT has");
  command
      ->add_option("--cache-mib", options->cache_mib,
                   "Memory for keys and values of all texts that run together, in MiB")
      ->check(WholeNumber(1))
      ->type_name("N")
      ->capture_default_str();
  AddModelOptions(*command, &options->model, /*takes_argument=*/false);
  AddComputeOptions(*command, &options->model);
  AddThreadsOption(*command, &options->num_threads);
  AddBatchOptions(*command, &options->context);
  AddForceOption(*command);
  command->callback([options, exit_code] { *exit_code = EvalCommand(*options); });
}

}  // namespace bittern::cli
