// SPDX-License-Identifier: Apache-2.0
// `bittern inspect`: what a model file contains, and what would be made of it, without loading it.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/json/json.hpp"
#include "cli/options/default_model.hpp"
#include "cli/options/hub_options.hpp"
#include "cli/options/model_options.hpp"
#include "cli/shared/commands.hpp"
#include "cli/shared/output.hpp"
#include "cli/shared/terminal.hpp"
#include "cli/shared/wording.hpp"
#include "report/cpu_report.hpp"
#include "report/inspect/tensor_head.hpp"
#include "report/inspect/text.hpp"

namespace bittern::cli {
namespace {

constexpr const char* kInspectExamples = R"(Examples:
  bittern inspect ggml-model-i2_s.gguf
  bittern inspect model.gguf --tensors
  bittern inspect model.gguf --json | jq .total.parameters
  bittern inspect model.gguf --tensor blk.0.attn_q.weight --head 64
  bittern inspect --cpu

A file with findings is still a success of `inspect`: look at "findings".)";

struct InspectOptions {
  std::string path;
  std::vector<std::string> overrides;
  bool json = false;
  bool tensors = false;
  bool no_codes = false;
  bool cpu = false;
  std::string tensor;  ///< its first weights are wanted
  int head = 64;
};

/// `inspect --cpu`: instruction sets and the kernel of each operation.
Result<std::string> InspectCpu(bool json) {
  report::CpuReport found = BITTERN_TRY(report::MakeCpuReport());
  for (auto& operation : found.operations) {
    for (auto& kernel : operation.kernels) kernel.state = WordOptions(kernel.state);
  }
  return json ? report::CpuReportJson(found).Dump(2) + "\n" : report::CpuReportText(found);
}

/// The report on a file. CheckUnchanged comes last: a file that changed meanwhile is reported as
/// that.
Result<std::string> Inspect(const InspectOptions& options) {
  if (options.cpu) return InspectCpu(options.json);
  auto checkpoint = BITTERN_TRY(OpenModelFile(options.path));
  for (const std::string& text : options.overrides) {
    BITTERN_TRY(checkpoint.metadata().Override(text));
  }
  if (!options.tensor.empty()) {
    Decisions decisions;
    const auto head = BITTERN_TRY(report::HeadOf(
        checkpoint, options.tensor, static_cast<std::size_t>(options.head), &decisions));
    BITTERN_TRY(checkpoint.CheckUnchanged());
    WordDecisions(&decisions);
    PrintDecisions(decisions, false);
    return options.json ? report::TensorHeadJson(head).Dump(2) + "\n"
                        : report::TensorHeadText(head);
  }
  report::InspectReport report = report::MakeInspectReport(checkpoint, !options.no_codes);
  for (std::string& finding : report.findings) finding = WordOptions(finding);
  WordDecisions(&report.decisions);
  NoticeUnreadOverrides(options.overrides, checkpoint.metadata());
  std::string text = options.json
                         ? report::InspectJson(report).Dump(2) + "\n"
                         : report::InspectText(report, options.tensors, UsesColour(stdout));
  BITTERN_TRY(checkpoint.CheckUnchanged());
  return text;
}

int InspectCommand(const InspectOptions& options) {
  const auto text = Inspect(options);
  if (!text) return Report(text.error());
  StandardOutput output;
  output.Write(*text);
  const auto status = output.Status();
  return status ? 0 : Report(status.error(), kExitRuntime);
}

}  // namespace

void AddInspect(CLI::App& app, int* exit_code) {
  CLI::App* command = app.add_subcommand("inspect", "Show what a model file contains");
  const auto options = std::make_shared<InspectOptions>();
  command
      ->add_option(
          "-m,--model,MODEL", options->path,
          "Model: a GGUF file, a Hugging Face folder or a name, with or without -m; without it "
          "$BITTERN_MODEL, else the built-in model")
      ->type_name("FILE")
      ->check(FileName());
  AddHubModelOptions(*command, &options->path);
  command->add_flag("--json", options->json, "Print one JSON object with everything");
  command->add_flag("--tensors", options->tensors, "List every tensor");
  command
      ->add_option("--tensor", options->tensor,
                   "Show the first weights of this tensor instead: codes and scale, or numbers")
      ->type_name("NAME");
  command->add_option("--head", options->head, "How many weights --tensor shows")
      ->type_name("N")
      ->check(WholeNumber(1, 1 << 20))
      ->capture_default_str();
  command->add_flag("--no-codes", options->no_codes,
                    "Do not read the ternary weights to count them");
  command->add_flag("--cpu", options->cpu,
                    "Show this CPU's instruction sets and the kernels in use instead of a model");
  AddFileOptions(*command, &options->overrides);
  command->footer(kInspectExamples);
  command->callback([options, exit_code] { *exit_code = InspectCommand(*options); });
}

}  // namespace bittern::cli
