// SPDX-License-Identifier: Apache-2.0
// `bittern convert`: any model that is read, to any format that is written.
#include "formats/convert/convert.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/threads/thread_pool.hpp"
#include "cli/options/model_options.hpp"
#include "cli/options/tabled_options.hpp"
#include "cli/shared/commands.hpp"
#include "cli/shared/interrupt.hpp"
#include "cli/shared/output.hpp"
#include "cli/shared/terminal.hpp"
#include "cli/shared/wording.hpp"
#include "formats/checkpoint.hpp"
#include "report/convert_report.hpp"
#include "runtime/convert_hints.hpp"

namespace bittern::cli {
namespace {

constexpr const char* kConvertExamples = R"(Examples:
  bittern convert ggml-model-i2_s.gguf model-tl2.gguf --to tl2 --prove
  bittern convert bitnet-b1.58-2B-4T/ model.gguf --to i2_s --embeddings f16
  bittern convert model.gguf hf-folder --to safetensors

Codes and scales are carried over, never made anew; a target that cannot hold them is refused,
and scales that it rounds are counted. Exit code 3: the proof found a difference; nothing is
left under the output's name.)";

/// The flags of the command; `convert` goes to the library.
struct ConvertCommandOptions {
  std::string in, out;
  std::vector<std::string> overrides, tilings;
  std::string scale_type = "bf16";
  int num_threads = 0;
  bool json = false, verbose = false;
  formats::ConvertOptions convert;
};

/// "ROWS,COLS,BM,BK,bm"
Result<formats::ShapeTiling> ParseTiling(const std::string& text) {
  const auto numbers = ParseIntegers(text, "--tiling");
  if (!numbers) return tl::unexpected(numbers.error());
  const bool positive = std::ranges::all_of(*numbers, [](int n) { return n > 0; });
  if (numbers->size() != 5 || !positive) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("--tiling {}: ROWS,COLS,BM,BK,bm expected", text));
  }
  const auto n = [&](std::size_t i) { return static_cast<std::size_t>((*numbers)[i]); };
  return formats::ShapeTiling{n(0), n(1), {n(2), n(3), n(4)}};
}

/// Converts with a progress line; Ctrl-C cancels, and nothing is left under the output's name.
Result<report::ConvertSummary> RunConvert(ConvertCommandOptions options) {
  const auto start = std::chrono::steady_clock::now();
  auto source = BITTERN_TRY(formats::Checkpoint::Open(options.in));
  for (const std::string& text : options.overrides) {
    BITTERN_TRY(source.metadata().Override(text));
  }
  for (const std::string& text : options.tilings) {
    options.convert.tilings.push_back(BITTERN_TRY(ParseTiling(text)));
  }
  report::ConvertSummary summary;
  Decisions hint_decisions;
  options.convert.hints = runtime::HintsFor(source, &hint_decisions);
  options.convert.float_scales = options.scale_type == "f32";
  options.convert.num_threads =
      options.num_threads == 0 ? DefaultThreadCount() : options.num_threads;
  ProgressLine progress;
  const std::atomic<bool>& interrupted = CatchInterrupt();
  options.convert.on_progress = [&](double done, std::string_view what) {
    progress.Show(fmt::format("{:3.0f} % {}", 100 * done, what));
    return !interrupted.load();
  };
  summary.report = BITTERN_TRY(formats::Convert(source, options.out, options.convert));
  progress.Clear();
  summary.report.decisions.insert(summary.report.decisions.begin(), hint_decisions.begin(),
                                  hint_decisions.end());
  PrintDecisions(summary.report.decisions, options.verbose);
  WordDecisions(&summary.report.decisions);
  summary.input = source.path();
  summary.input_kind = source.kind();
  summary.input_bytes = source.file_bytes();
  summary.output = options.out;
  summary.target = options.convert.to;
  summary.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return summary;
}

/// Prints the summary. A failed proof is shown in it and makes the exit code 3.
int ConvertCommand(const ConvertCommandOptions& options) {
  const auto summary = RunConvert(options);
  if (!summary) return ReportOutput(summary.error(), options.out);
  StandardOutput output;
  output.Write(options.json ? report::ConvertJson(*summary) : report::ConvertText(*summary));
  const auto status = output.Status();
  if (!status) return Report(status.error(), kExitRuntime);
  const auto& proof = summary->report.proof;
  if (!proof || proof->ok()) return 0;
  return Report({ErrorCode::kInternal, fmt::format("the proof failed; {} was not written: {}",
                                                   summary->output, proof->first_problem)},
                kExitRuntime);
}

constexpr const char* kOnlyTernary =
    ": ternary weights are carried over, and no other format holds them";

/// Flags that say what is written.
void AddTargetOptions(CLI::App& command, ConvertCommandOptions* options) {
  const auto strings = [](std::span<const std::string_view> names) {
    return std::vector<std::string>(names.begin(), names.end());
  };
  command
      .add_option("--to", options->convert.to,
                  fmt::format("Format of the ternary weights: {}",
                              fmt::join(formats::ConvertTargets(), ", ")))
      ->type_name("FORMAT")
      ->required()
      ->transform(OneOf(strings(formats::ConvertTargets()), kOnlyTernary));
  command
      .add_option("--embeddings", options->convert.embeddings,
                  fmt::format("Format of embedding and output head: {} (default: keep)",
                              fmt::join(formats::EmbeddingFormats(), ", ")))
      ->type_name("FORMAT")
      ->transform(OneOf(strings(formats::EmbeddingFormats())));
  AddTabled(command, "tiling", &options->tilings);
  AddTabled(command, "scale_type", &options->scale_type);
}

}  // namespace

void AddConvert(CLI::App& app, int* exit_code) {
  CLI::App* command = app.add_subcommand("convert", "Convert a model to another format");
  const auto options = std::make_shared<ConvertCommandOptions>();
  command->add_option("IN", options->in, "Model: a GGUF file or a Hugging Face folder")
      ->type_name("")
      ->check(FileName())
      ->required();
  command->add_option("OUT", options->out, "GGUF file to write; for safetensors, a new folder")
      ->type_name("")
      ->check(PlainFile())
      ->required();
  AddTargetOptions(*command, options.get());
  AddTabled(*command, "prove", &options->convert.prove);
  command->add_flag("-f,--force", options->convert.overwrite, "Replace a file that is there");
  command->add_flag("--json", options->json, "Print one JSON object");
  command->add_flag("-v,--verbose", options->verbose, "Print every decision");
  AddThreadsOption(*command, &options->num_threads);
  AddFileOptions(*command, &options->overrides);
  command->footer(kConvertExamples);
  command->callback([options, exit_code] { *exit_code = ConvertCommand(*options); });
}

}  // namespace bittern::cli
