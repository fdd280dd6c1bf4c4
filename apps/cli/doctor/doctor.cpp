// SPDX-License-Identifier: Apache-2.0
// `bittern doctor`: why a model talks nonsense, and a file that does not.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/default_model.hpp"
#include "cli/doctor/doctor_report.hpp"
#include "cli/options/model_options.hpp"
#include "cli/output.hpp"
#include "cli/terminal.hpp"
#include "doctor/diagnose.hpp"

namespace bittern::cli {
namespace {

constexpr const char* kDoctorExample = R"(Examples:
  bittern doctor model.gguf
  bittern doctor model.gguf --fix mended.gguf
  bittern doctor model.gguf --json | jq .verdict

Exit codes: 0 healthy, 10 something is wrong and can be put right, 11 something is lost, 12 cannot
tell (random weights, or a fault that is not known).)";

constexpr int kExitCurable = 10, kExitIncurable = 11, kExitCannotTell = 12;

struct DoctorOptions {
  std::string path, fixed;
  int num_threads = 0;
  bool json = false, overwrite = false;
};

/// What came of --fix.
struct FixOutcome {
  std::string path;
  std::optional<formats::ConvertReport> report;
  [[nodiscard]] bool ok() const { return report && report->proof && report->proof->ok(); }
};

int ExitCodeOf(doctor::Verdict verdict) {
  switch (verdict) {
    case doctor::Verdict::kHealthy:
      return 0;
    case doctor::Verdict::kCurable:
      return kExitCurable;
    case doctor::Verdict::kIncurable:
      return kExitIncurable;
    case doctor::Verdict::kCannotTell:
      return kExitCannotTell;
  }
  return kExitRuntime;
}

nlohmann::ordered_json DoctorJson(const std::string& path, const doctor::Diagnosis& diagnosis,
                                  const std::optional<FixOutcome>& fix) {
  nlohmann::ordered_json object = {{"path", path}};
  object.update(DiagnosisJson(diagnosis));
  if (fix) object["fixed"] = {{"path", fix->path}, {"proved", fix->ok()}};
  return object;
}

std::string DoctorText(const std::string& path, const doctor::Diagnosis& diagnosis,
                       const std::optional<FixOutcome>& fix) {
  const bool told_below = diagnosis.findings.size() == 1;  // the summary is that finding's cause
  std::string text = fmt::format("{}: {}.{}\n", path, doctor::VerdictName(diagnosis.verdict),
                                 told_below ? "" : " " + diagnosis.summary);
  for (const doctor::Finding& finding : diagnosis.findings) {
    text += fmt::format("\n  {}\n  Evidence: {}\n  Cure: {}\n", finding.cause, finding.evidence,
                        finding.cure);
  }
  for (const std::string& sentence : diagnosis.undecided) text += fmt::format("\n  {}\n", sentence);
  if (fix) {
    text += fmt::format("\n  {} written; codes and scales proved.\n", fix->path);
  } else if (diagnosis.verdict == doctor::Verdict::kCurable) {
    text += fmt::format(
        "\n  bittern doctor {} --fix FILE writes a file with all of this put right.\n", path);
  }
  if (diagnosis.nats_after) {
    text += fmt::format(
        "\n  {:.2f} nats per token of the built-in text that the model knows best; {} "
        "trials in {:.1f} s\n",
        *diagnosis.nats_after, diagnosis.trials, diagnosis.seconds);
  }
  return text;
}

Result<int> RunDoctor(const DoctorOptions& options) {
  const auto open = [&] { return OpenModelFile(options.path); };
  const std::string path = options.path.empty() ? "the built-in model" : options.path;
  ProgressLine progress;
  const auto diagnosis = doctor::Diagnose(
      open, path, {.num_threads = options.num_threads, .on_progress = [&](std::string_view what) {
                     progress.ShowIfSlow(what);
                   }});
  progress.Clear();
  std::optional<FixOutcome> fix;
  if (!options.fixed.empty()) {
    auto report =
        BITTERN_TRY(doctor::WriteCured(open, diagnosis, options.fixed, options.overwrite));
    fix = FixOutcome{options.fixed, std::move(report)};
    if (!fix->ok()) {
      return Fail(ErrorCode::kInternal,
                  fmt::format("the proof failed; {} was not written: {}", options.fixed,
                              fix->report->proof->first_problem));
    }
  }
  StandardOutput output;
  constexpr auto kReplace = nlohmann::json::error_handler_t::replace;
  output.Write(options.json ? DoctorJson(path, diagnosis, fix).dump(2, ' ', false, kReplace) + "\n"
                            : DoctorText(path, diagnosis, fix));
  BITTERN_TRY(output.Status());
  return ExitCodeOf(diagnosis.verdict);
}

int DoctorCommand(const DoctorOptions& options) {
  const Result<int> exit_code = RunDoctor(options);
  return exit_code ? *exit_code : ReportOutput(exit_code.error(), options.fixed);
}

}  // namespace

nlohmann::ordered_json DiagnosisJson(const doctor::Diagnosis& diagnosis) {
  nlohmann::ordered_json findings = nlohmann::ordered_json::array();
  for (const doctor::Finding& finding : diagnosis.findings) {
    findings.push_back({{"id", finding.id},
                        {"cause", finding.cause},
                        {"evidence", finding.evidence},
                        {"cure", finding.cure},
                        {"curable", finding.curable}});
  }
  nlohmann::ordered_json object = {{"verdict", doctor::VerdictName(diagnosis.verdict)},
                                   {"summary", diagnosis.summary},
                                   {"findings", findings},
                                   {"undecided", diagnosis.undecided}};
  if (diagnosis.nats_before) object["nats_before"] = *diagnosis.nats_before;
  if (diagnosis.nats_after) object["nats_after"] = *diagnosis.nats_after;
  if (diagnosis.nats_before) object["nats_of_knowing_nothing"] = diagnosis.uniform;
  object["trials"] = diagnosis.trials;
  object["seconds"] = diagnosis.seconds;
  return object;
}

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
  command
      ->add_option(
          "--fix", options->fixed,
          "Write the model with all that can be put right put right; the file itself is not "
          "changed")
      ->type_name("OUT")
      ->check(PlainFile());
  command->add_flag("--overwrite", options->overwrite, "Replace OUT if it is there");
  command->add_flag("--json", options->json, "Print one JSON object");
  AddThreadsOption(*command, &options->num_threads);
  command->callback([options, exit_code] { *exit_code = DoctorCommand(*options); });
}

}  // namespace bittern::cli
