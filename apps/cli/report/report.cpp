// SPDX-License-Identifier: Apache-2.0
// `bittern report`: all that a developer asks for first, in one file that can be attached to a bug
// report; nothing in it tells whose machine it came from.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <memory>

#include "base/json/json.hpp"
#include "base/os/environment.hpp"
#include "cli/doctor/selftest_command.hpp"
#include "cli/options/default_model.hpp"
#include "cli/options/hub_options.hpp"
#include "cli/options/local_model.hpp"
#include "cli/options/model_options.hpp"
#include "cli/options/outputs.hpp"
#include "cli/shared/commands.hpp"
#include "cli/shared/output.hpp"
#include "cli/shared/terminal.hpp"
#include "cli/shared/wording.hpp"
#include "kernels/instruction_sets.hpp"
#include "report/bug/collect.hpp"

namespace bittern::cli {
namespace {

constexpr const char* kReportExample = R"(Examples:
  bittern report -m model.gguf -o report.txt
  bittern report -o report.json

The report holds the machine, versions, what the file says of itself (no weights, no vocabulary), what
doctor and selftest find, and a short measurement. Names of users and hosts and paths of folders are
taken out; read it before you send it. Takes up to two minutes with a large model.)";

struct ReportOptions {
  std::string path, out = "-";
  int num_threads = 0;
  bool json = false;
};

#if defined(__clang__)
constexpr const char* kCompiler = __VERSION__;
#else
constexpr const char* kCompiler = "GCC " __VERSION__;
#endif

/// Tells the build, and the instruction set that $BITTERN_ISA forces.
Json Versions() {
  return {{"bittern", BITTERN_VERSION},
          {"compiler", kCompiler},
          {"built_in_model", BITTERN_DEFAULT_MODEL_NAME},
          {"forced_instructions", kernels::ForcedIsa()}};
}

/// Gathers the parts. Texts with a private name in them are cleaned afterwards, all at once.
Json Collect(const ReportOptions& options, const std::string& path) {
  ProgressLine progress;
  const auto say = [&](std::string_view what) { progress.ShowIfSlow(what); };
  return report::CollectParts({.versions = Versions(),
                               .path = path,
                               .open = [&] { return OpenModelFile(path); },
                               .num_threads = options.num_threads,
                               .word = WordOptions,
                               .selftest =
                                   [&] {
                                     return MakeSelftest(path, options.num_threads,
                                                         proof::SelftestOptions{}.seconds, say);
                                   },
                               .on_progress = say});
}

/// The output is opened before the work. A model that cannot be opened is a part of the report, not
/// an error, unless the output would replace it.
Result<void> WriteReport(const ReportOptions& options) {
  const char* named = os::Variable("BITTERN_MODEL");
  const std::string path = BITTERN_TRY(LocalModel(!options.path.empty() ? options.path
                                                  : named == nullptr    ? ""
                                                                        : named));
  const auto opened = OpenModelFile(path);
  if (!opened && opened.error().code == ErrorCode::kInvalidArgument) {
    return tl::unexpected(opened.error());  // it would be replaced
  }
  auto out = BITTERN_TRY(OutputFile::Create(options.out));  // before the work
  Json parts = Collect(options, path);
  auto words = report::PrivateWords::OfThisMachine(os::Variable);
  words.AddPath(path);
  const bool json = options.json || options.out.ends_with(".json");
  BITTERN_TRY(out.Write(report::CleanReport(std::move(parts), words, json)));
  return out.Close();
}

int ReportCommand(const ReportOptions& options) {
  const auto written = WriteReport(options);
  return written ? 0 : ReportOutput(written.error(), options.out);
}

}  // namespace

void AddReport(CLI::App& app, int* exit_code) {
  CLI::App* command =
      app.add_subcommand("report", "Write one file with all that a bug report needs");
  command->footer(kReportExample);
  const auto options = std::make_shared<ReportOptions>();
  command
      ->add_option("-m,--model,MODEL", options->path,
                   "Model: a GGUF file or a Hugging Face folder, with or without -m; without it "
                   "$BITTERN_MODEL, else the built-in model")
      ->type_name("FILE")
      ->check(FileName());
  AddHubModelOptions(*command, &options->path);
  command
      ->add_option("-o,--output", options->out,
                   "Where to write; JSON if the name ends with .json; - is standard output")
      ->type_name("FILE")
      ->check(FileName())
      ->capture_default_str();
  command->add_flag("--json", options->json, "Write JSON in any case");
  AddThreadsOption(*command, &options->num_threads);
  AddForceOption(*command);
  command->callback([options, exit_code] { *exit_code = ReportCommand(*options); });
}

}  // namespace bittern::cli
