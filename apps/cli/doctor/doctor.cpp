// SPDX-License-Identifier: Apache-2.0
// `bittern doctor`: why a model talks nonsense, and a file that does not.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/json/json.hpp"
#include "base/text/display.hpp"
#include "cli/commands.hpp"
#include "cli/default_model.hpp"
#include "cli/doctor/doctor_report.hpp"
#include "cli/hub/local_model.hpp"
#include "cli/hub/options.hpp"
#include "cli/options/model_options.hpp"
#include "cli/output.hpp"
#include "cli/terminal.hpp"
#include "doctor/diagnose.hpp"
#include "doctor/likeness.hpp"
#include "doctor/page.hpp"
#include "formats/open/source_files.hpp"
#include "selftest/known_models.hpp"

namespace bittern::cli {
namespace {

constexpr const char* kDoctorExample = R"(Examples:
  bittern doctor model.gguf
  bittern doctor model.gguf --fix mended.gguf
  bittern doctor model.gguf --like healthy.gguf --html page.html
  bittern doctor model.gguf --json | jq .verdict

Exit codes: 0 nothing was found, or the file is known to be healthy (--json tells which), 10 something
is wrong and can be put right, 11 something is lost, 12 cannot tell (random weights, or a fault that is
not known). --fix writes OUT only with 10.)";

constexpr int kExitCurable = 10, kExitIncurable = 11, kExitCannotTell = 12;

struct DoctorOptions {
  std::string path, fixed, like, html;
  int num_threads = 0;
  bool json = false, overwrite = false;
};

/// What came of --fix.
struct FixOutcome {
  std::string path;
  std::optional<formats::ConvertReport> report = {};
  std::string why = {};  ///< nothing was written; empty: it was
  [[nodiscard]] bool ok() const { return report && report->proof && report->proof->ok(); }
};

/// All that was found.
struct Outcome {
  std::string path;
  doctor::Diagnosis diagnosis;
  std::optional<FixOutcome> fix;
  std::optional<doctor::Likeness> likeness;
};

int ExitCodeOf(doctor::Verdict verdict) {
  switch (verdict) {
    case doctor::Verdict::kHealthy:
    case doctor::Verdict::kNothingFound:
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

Json UnlikeJson(const std::vector<doctor::Unlike>& unlike) {
  Json list = Json::MakeArray();
  for (const doctor::Unlike& one : unlike) list.push_back({{"name", one.name}, {"what", one.what}});
  return list;
}

Json DoctorJson(const Outcome& found) {
  Json object = {{"path", found.path}};
  object.Update(DiagnosisJson(found.diagnosis));
  if (found.likeness) {
    const doctor::Likeness& likeness = *found.likeness;
    object["like"] = {{"path", likeness.path},
                      {"summary", likeness.summary},
                      {"tensors", likeness.tensors},
                      {"equal", likeness.equal},
                      {"unlike", UnlikeJson(likeness.unlike)},
                      {"keys", likeness.keys},
                      {"unlike_keys", UnlikeJson(likeness.unlike_keys)}};
  }
  if (found.fix) {
    const bool written = found.fix->why.empty();
    object["fixed"] = {
        {"path", found.fix->path}, {"written", written}, {"proved", found.fix->ok()}};
    if (!written) object["fixed"]["why"] = found.fix->why;
  }
  return object;
}

std::string LikenessText(const doctor::Likeness& likeness) {
  constexpr std::size_t kMostShown = 20;
  std::string text = fmt::format("\n  Beside {}: {}\n", likeness.path, likeness.summary);
  for (const auto* list : {&likeness.unlike, &likeness.unlike_keys}) {
    for (std::size_t i = 0; i < std::min(list->size(), kMostShown); ++i) {
      text += fmt::format("    {}: {}\n", Printable((*list)[i].name), (*list)[i].what);
    }
    if (list->size() > kMostShown) {
      text += fmt::format("    and {} more (--json has all)\n", list->size() - kMostShown);
    }
  }
  return text;
}

/// "cannot tell"
std::string Words(doctor::Verdict verdict) {
  std::string words(doctor::VerdictName(verdict));
  std::ranges::replace(words, '_', ' ');
  return words;
}

constexpr std::string_view kWasThisAll =
    "Whether this was all, only a healthy file can tell: --like HEALTHY.";

std::string FixText(const FixOutcome& fix) {
  if (!fix.why.empty()) return fmt::format("\n  {} was not written: {}.\n", fix.path, fix.why);
  return fmt::format("\n  {} written; codes and scales proved. {}\n", fix.path, kWasThisAll);
}

std::string Advice(const std::string& path) {
  return fmt::format("bittern doctor {} --fix FILE writes a file with all of this put right. {}",
                     path, kWasThisAll);
}

std::string DoctorText(const Outcome& found) {
  const doctor::Diagnosis& diagnosis = found.diagnosis;
  const bool told_below = diagnosis.findings.size() == 1;  // the summary is that finding's cause
  std::string text = fmt::format("{}: {}.{}\n", found.path, Words(diagnosis.verdict),
                                 told_below ? "" : " " + diagnosis.summary);
  for (const doctor::Finding& finding : diagnosis.findings) {
    text += fmt::format("\n  {}\n  Evidence: {}\n  Cure: {}\n", finding.cause, finding.evidence,
                        finding.cure);
  }
  for (const std::string& sentence : diagnosis.undecided) text += fmt::format("\n  {}\n", sentence);
  if (found.likeness) text += LikenessText(*found.likeness);
  if (!found.likeness && (diagnosis.verdict == doctor::Verdict::kNothingFound ||
                          diagnosis.verdict == doctor::Verdict::kCannotTell)) {
    text += "\n  --like HEALTHY compares with a healthy file and makes sure.\n";
  }
  if (found.fix) {
    text += FixText(*found.fix);
  } else if (diagnosis.verdict == doctor::Verdict::kCurable) {
    text += fmt::format("\n  {}\n", Advice(found.path));
  }
  if (diagnosis.nats_after) {
    text += fmt::format(
        "\n  {:.2f} nats per token of the built-in text that the model knows best; {} "
        "trials in {:.1f} s\n",
        *diagnosis.nats_after, diagnosis.trials, diagnosis.seconds);
  }
  return text;
}

/// Compares with the file that --like names; one that does not open here was diagnosed already.
Result<std::optional<doctor::Likeness>> CompareWith(const DoctorOptions& options,
                                                    const doctor::Opener& open) {
  if (options.like.empty()) return std::nullopt;
  const auto open_other = [&] { return OpenModelFile(options.like); };
  BITTERN_TRY(open_other());
  if (!open()) return std::nullopt;
  return BITTERN_TRY(doctor::CompareFiles(open, open_other));
}

Result<void> WritePage(const DoctorOptions& options, const doctor::Opener& open,
                       const Outcome& found) {
  const auto file = open();
  if (file) BITTERN_TRY(formats::CheckNotSource(*file, options.html));
  auto page = BITTERN_TRY(OutputFile::Create(options.html));
  BITTERN_TRY(
      page.Write(doctor::HtmlPage({.path = found.path,
                                   .diagnosis = &found.diagnosis,
                                   .likeness = found.likeness ? &*found.likeness : nullptr,
                                   .file = file ? &*file : nullptr,
                                   .advice = Advice(found.path),
                                   .fixed = found.fix && found.fix->ok() ? found.fix->path : ""})));
  return page.Close();
}

Result<Outcome> Examine(const DoctorOptions& options, const doctor::Opener& open) {
  Outcome found{.path = options.path.empty() ? "the built-in model" : options.path,
                .diagnosis = {},
                .fix = {},
                .likeness = BITTERN_TRY(CompareWith(options, open))};
  ProgressLine progress;
  found.diagnosis =
      doctor::Diagnose(open, found.path,
                       {.num_threads = options.num_threads,
                        .on_progress = [&](std::string_view what) { progress.ShowIfSlow(what); },
                        .identify = selftest::NameOfKnownFile});
  progress.Clear();
  if (found.likeness) doctor::ConfirmBy(*found.likeness, &found.diagnosis);
  if (!options.fixed.empty() && found.diagnosis.verdict != doctor::Verdict::kCurable) {
    found.fix = FixOutcome{.path = options.fixed,
                           .why = std::string(doctor::NothingWritten(found.diagnosis.verdict))};
  } else if (!options.fixed.empty()) {
    auto report =
        BITTERN_TRY(doctor::WriteCured(open, found.diagnosis, options.fixed, options.overwrite));
    found.fix = FixOutcome{.path = options.fixed, .report = std::move(report)};
    if (!found.fix->ok()) {
      return Fail(ErrorCode::kInternal,
                  fmt::format("the proof failed; {} was not written: {}", options.fixed,
                              found.fix->report->proof->first_problem));
    }
  }
  return found;
}

/// A folder that holds no model, or several, says nothing about a file: that is an error, not a
/// verdict.
Result<void> CheckFolder(const std::string& path, const doctor::Opener& open) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return {};
  const auto file = open();
  if (file || file.error().code != ErrorCode::kIo) return {};
  return tl::unexpected(file.error());
}

Result<int> RunDoctor(DoctorOptions options) {
  options.path = BITTERN_TRY(LocalModel(options.path));
  const doctor::Opener open = [&] { return OpenModelFile(options.path); };
  BITTERN_TRY(CheckFolder(options.path, open));
  const Outcome found = BITTERN_TRY(Examine(options, open));
  if (!options.html.empty()) BITTERN_TRY(WritePage(options, open, found));
  StandardOutput output;
  output.Write(options.json ? DoctorJson(found).Dump(2) + "\n" : DoctorText(found));
  BITTERN_TRY(output.Status());
  return ExitCodeOf(found.diagnosis.verdict);
}

int DoctorCommand(const DoctorOptions& options) {
  const Result<int> exit_code = RunDoctor(options);
  return exit_code ? *exit_code : ReportOutput(exit_code.error(), options.fixed);
}

}  // namespace

Json DiagnosisJson(const doctor::Diagnosis& diagnosis) {
  Json findings = Json::MakeArray();
  for (const doctor::Finding& finding : diagnosis.findings) {
    findings.push_back({{"id", finding.id},
                        {"cause", finding.cause},
                        {"evidence", finding.evidence},
                        {"cure", finding.cure},
                        {"curable", finding.curable}});
  }
  Json object = {{"verdict", doctor::VerdictName(diagnosis.verdict)},
                 {"summary", diagnosis.summary},
                 {"findings", findings},
                 {"undecided", diagnosis.undecided}};
  if (diagnosis.nats_before) object["nats_before"] = *diagnosis.nats_before;
  if (diagnosis.nats_expected) object["nats_expected"] = *diagnosis.nats_expected;
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
  AddHubModelOptions(*command, &options->path);
  command
      ->add_option(
          "--fix", options->fixed,
          "Write the model with all that can be put right put right; the file itself is not "
          "changed")
      ->type_name("OUT")
      ->check(PlainFile());
  command
      ->add_option("--like", options->like,
                   "Also compare with this file or folder, a healthy one, tensor by tensor and key "
                   "by key")
      ->type_name("HEALTHY")
      ->check(FileName());
  command
      ->add_option("--html", options->html,
                   "Also write a page: what is wrong, how much sense the text makes, scales layer "
                   "by layer")
      ->type_name("FILE")
      ->check(PlainFile());
  command->add_flag("--overwrite", options->overwrite, "Replace OUT if it is there");
  command->add_flag("--json", options->json, "Print one JSON object");
  AddThreadsOption(*command, &options->num_threads);
  command->callback([options, exit_code] { *exit_code = DoctorCommand(*options); });
}

}  // namespace bittern::cli
