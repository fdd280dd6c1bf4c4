// SPDX-License-Identifier: Apache-2.0
// `bittern doctor`: why a model talks nonsense, and a file that does not.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "base/json/json.hpp"
#include "cli/options/default_model.hpp"
#include "cli/options/hub_options.hpp"
#include "cli/options/local_model.hpp"
#include "cli/options/model_options.hpp"
#include "cli/options/tabled_options.hpp"
#include "cli/shared/commands.hpp"
#include "cli/shared/output.hpp"
#include "cli/shared/page_origin.hpp"
#include "cli/shared/terminal.hpp"
#include "cli/shared/wording.hpp"
#include "doctor/outcome/diagnosis_json.hpp"
#include "doctor/outcome/examine.hpp"
#include "doctor/outcome/text.hpp"
#include "formats/open/source_files.hpp"
#include "proof/selftest/known_models.hpp"
#include "report/page/page.hpp"

namespace bittern::cli {
namespace {

using doctor::Outcome;

constexpr const char* kDoctorExample = R"(Examples:
  bittern doctor model.gguf
  bittern doctor model.gguf --fix mended.gguf
  bittern doctor model.gguf --like healthy.gguf --html page.html
  bittern doctor model.gguf --json | jq .verdict

Exit codes: 0 nothing was found, or the file is known to be healthy (--json tells which), 10 something
is wrong and can be put right, 11 something is lost, 12 cannot tell (random weights, a fault that is
not known, or a model of a kind that is not supported). --fix writes OUT only with 10.)";

constexpr int kExitCurable = 10, kExitIncurable = 11, kExitCannotTell = 12;

struct DoctorOptions {
  std::string path, fixed, like, html;
  int num_threads = 0;
  bool json = false, overwrite = false;
};

/// The exit code tells a script the verdict; see kDoctorExample.
int ExitCodeOfVerdict(doctor::Verdict verdict) {
  switch (verdict) {
    case doctor::Verdict::kHealthy:
    case doctor::Verdict::kNothingFound:
      return 0;
    case doctor::Verdict::kCurable:
      return kExitCurable;
    case doctor::Verdict::kIncurable:
      return kExitIncurable;
    case doctor::Verdict::kUnsupported:
    case doctor::Verdict::kCannotTell:
      return kExitCannotTell;
  }
  return kExitRuntime;
}

/// Writes the page of --html. The file is opened again for it; a file that cannot be opened gives a
/// page without its tensors.
Result<void> WritePage(const DoctorOptions& options, const doctor::Opener& open,
                       const Outcome& found) {
  const auto file = open();
  if (file) BITTERN_TRY(formats::CheckNotSource(*file, options.html));
  auto page = BITTERN_TRY(OutputFile::Create(options.html));
  Json data =
      doctor::PageJson(found, file ? &*file : nullptr, doctor::CureAdvice(found.path, WordOptions));
  data["made"] = PageOrigin();
  BITTERN_TRY(page.Write(report::HtmlPage(report::PageKind::kDoctor, data)));
  return page.Close();
}

/// Runs the examination with a line of progress.
Result<Outcome> ExamineShown(const DoctorOptions& options, const doctor::Opener& open) {
  ProgressLine progress;
  doctor::ExamineOptions examine = {
      .name = options.path.empty() ? "the built-in model" : options.path,
      .fixed = options.fixed,
      .overwrite = options.overwrite,
      .diagnose = {.num_threads = options.num_threads,
                   .on_progress = [&](std::string_view what) { progress.ShowIfSlow(what); },
                   .identify = proof::NameOfKnownFile}};
  if (!options.like.empty()) examine.like = [&] { return OpenModelFile(options.like); };
  return doctor::Examine(open, examine);
}

/// Each trial opens the model anew through `open`, since a trial changes its keys.
Result<int> RunDoctor(DoctorOptions options) {
  options.path = BITTERN_TRY(LocalModel(options.path));
  const doctor::Opener open = [&] { return OpenModelFile(options.path); };
  BITTERN_TRY(doctor::CheckFolder(options.path, open));
  const Outcome found = BITTERN_TRY(ExamineShown(options, open));
  if (!options.html.empty()) BITTERN_TRY(WritePage(options, open, found));
  StandardOutput output;
  output.Write(options.json ? doctor::OutcomeJson(found).Dump(2) + "\n"
                            : doctor::OutcomeText(found, WordOptions));
  BITTERN_TRY(output.Status());
  return ExitCodeOfVerdict(found.diagnosis.verdict);
}

int DoctorCommand(const DoctorOptions& options) {
  const Result<int> exit_code = RunDoctor(options);
  return exit_code ? *exit_code : ReportOutput(exit_code.error(), options.fixed);
}

}  // namespace

void AddDoctor(CLI::App& app, int* exit_code) {
  CLI::App* command =
      app.add_subcommand("doctor", "Find out why a model talks nonsense, and mend it");
  command->footer(kDoctorExample);
  const auto options = std::make_shared<DoctorOptions>();
  command
      ->add_option("-m,--model,MODEL", options->path,
                   "Model: a GGUF file or a Hugging Face folder, with or without -m; without it "
                   "$BITTERN_MODEL, else the built-in model")
      ->type_name("FILE")
      ->check(FileName());
  AddHubModelOptions(*command, &options->path);
  AddTabled(*command, "fix", &options->fixed)->check(PlainFile());
  AddTabled(*command, "like", &options->like)->check(FileName());
  command
      ->add_option("--html", options->html,
                   "Also write a page: what is wrong, how much sense the text makes, scales layer "
                   "by layer")
      ->type_name("FILE")
      ->check(PlainFile());
  command->add_flag("-f,--force,--overwrite", options->overwrite, "Replace OUT if it is there");
  command->add_flag("--json", options->json, "Print one JSON object");
  AddThreadsOption(*command, &options->num_threads);
  command->callback([options, exit_code] { *exit_code = DoctorCommand(*options); });
}

}  // namespace bittern::cli
