// SPDX-License-Identifier: Apache-2.0
// `bittern trace`: what a network computes, operation by operation, kept, compared, drawn.
#include "proof/trace/trace.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "cli/options/model_options.hpp"
#include "cli/options/outputs.hpp"
#include "cli/options/tabled_options.hpp"
#include "cli/shared/commands.hpp"
#include "cli/shared/output.hpp"
#include "cli/shared/page_origin.hpp"
#include "cli/shared/terminal.hpp"
#include "proof/trace/compare.hpp"
#include "proof/trace/dump.hpp"
#include "proof/trace/subjects.hpp"
#include "proof/trace/summary.hpp"
#include "report/page/page.hpp"

namespace bittern::cli {
namespace {

constexpr const char* kTraceExample = R"(Examples:
  bittern trace -m model.gguf -p "In the beginning" --html trace.html
  bittern trace -m model.gguf -p "In the beginning" --dump there --values
  bittern trace -m model.gguf --compare there isa=scalar --json
  bittern trace --compare good.gguf bad.gguf -p "The king"

A and B of --compare are each a folder that --dump (or another program) wrote, a model, isa=NAME (the
model under that instruction set) or kv=f16, kv=f32, kv=i8 (with that cache). Exit codes: 0 the same or
only rounding, 4 an operation differs by more.)";

struct TraceCommandOptions {
  ModelOptions model;
  ContextOptions context;
  PromptOptions prompt;
  int num_threads = 0;
  std::vector<std::string> compare;
  std::string dump, html;
  bool values = false, json = false;
};

/// Writes the folder of --dump and the page of --html. The dump has values only with --values,
/// though comparing and drawing need them in memory.
Result<void> WriteResults(const TraceCommandOptions& options, const proof::TracedSubject& traced,
                          const proof::TraceComparison* comparison, ProgressLine* progress) {
  if (!options.dump.empty()) {
    proof::Trace trace = traced.trace;
    if (!options.values) {
      for (proof::TraceStep& step : trace.steps) step.values.clear();
    }
    BITTERN_TRY(proof::WriteDump(trace, options.dump));
  }
  if (options.html.empty()) return {};
  if (traced.model != nullptr) progress->ShowIfSlow("reading the head after each layer");
  Json page = BITTERN_TRY(proof::SubjectPage(traced, comparison));
  page["made"] = PageOrigin();
  auto file = BITTERN_TRY(OutputFile::Create(options.html));
  BITTERN_TRY(file.Write(report::HtmlPage(report::PageKind::kTrace, page)));
  return file.Close();
}

/// Traces one subject, or the two of --compare. Prints the comparison, or the trace where no file
/// was asked for.
Result<int> RunTraceCommand(const TraceCommandOptions& options) {
  BITTERN_TRY(CheckContextOptions(options.context));
  ProgressLine progress;
  const proof::SubjectOptions subjects{
      .trace = {.kv_type = KvTypeOf(options.context),
                .num_threads = options.num_threads,
                .values = options.values || !options.html.empty() || !options.compare.empty(),
                .program = "bittern " BITTERN_VERSION},
      .load =
          [&](const std::string& path) {
            ModelOptions model = options.model;
            if (!path.empty()) model.path = path;
            return LoadModel(model, options.num_threads);
          },
      .tokens = [&](const tokenizer::Tokenizer& tokenizer) -> Result<std::vector<proof::TokenId>> {
        const Prompt prompt = BITTERN_TRY(ReadPrompt(options.prompt));
        return EncodePrompt(prompt, tokenizer);
      },
      .on_progress = [&](std::string_view what) { progress.ShowIfSlow(what); }};
  const std::vector<std::string> specs =
      options.compare.empty() ? std::vector<std::string>(1) : options.compare;
  const auto traced = BITTERN_TRY(proof::TraceSubjects(specs, subjects));
  std::optional<proof::TraceComparison> comparison;
  if (traced.size() == 2) {
    comparison = BITTERN_TRY(proof::CompareTraces(traced[0].trace, traced[1].trace));
  }
  BITTERN_TRY(WriteResults(options, traced.back(), comparison ? &*comparison : nullptr, &progress));
  progress.Clear();
  StandardOutput output;
  if (comparison) {
    output.Write(options.json ? proof::ComparisonJson(*comparison) : comparison->summary + "\n");
  } else if (options.dump.empty() && options.html.empty()) {
    output.Write(proof::TraceText(traced[0].trace));
  }
  BITTERN_TRY(output.Status());
  const bool differs = comparison && comparison->likeness == proof::Likeness::kDifferent;
  return differs ? kExitDiffers : 0;
}

/// A trace alone has no JSON form, so --json without --compare is refused.
int TraceCommand(const TraceCommandOptions& options) {
  if (options.json && options.compare.empty()) {
    return Report({ErrorCode::kInvalidArgument, "--json: prints what --compare finds; give both"});
  }
  const auto done = RunTraceCommand(options);
  return done ? *done : Report(done.error());
}

}  // namespace

void AddTrace(CLI::App& app, int* exit_code) {
  CLI::App* command =
      app.add_subcommand("trace", "Show every operation of a forward pass, or compare two passes");
  command->footer(kTraceExample);
  const auto options = std::make_shared<TraceCommandOptions>();
  AddModelOptions(*command, &options->model, /*takes_argument=*/false);
  AddComputeOptions(*command, &options->model);
  AddPromptOptions(*command, &options->prompt);
  command
      ->add_option(
          "--dump", options->dump,
          "Write what was computed into this folder: trace.json, and values/ with --values")
      ->type_name("DIR")
      ->check(PlainFile());
  AddTabled(*command, "values", &options->values);
  command
      ->add_option("--compare", options->compare,
                   "Name the first operation that differs: folders, models, isa=NAME or kv=TYPE; a "
                   "prompt is taken from a folder")
      ->type_name("A B")
      ->expected(2);
  command->add_flag("--json", options->json, "With --compare: print one JSON object");
  command->add_option("--html", options->html, "Write a page with a map of layers and operations")
      ->type_name("FILE")
      ->check(PlainFile());
  AddThreadsOption(*command, &options->num_threads);
  AddBatchOptions(*command, &options->context);
  AddForceOption(*command);
  command->callback([options, exit_code] { *exit_code = TraceCommand(*options); });
}

}  // namespace bittern::cli
