// SPDX-License-Identifier: Apache-2.0
// `bittern certify`: one line that proves what a model answers on this machine, and the comparison
// with the line or file of another machine.
#include "runtime/certify/certify.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <utility>

#include "base/files/atomic_file.hpp"
#include "base/files/text_file.hpp"
#include "cli/commands.hpp"
#include "cli/options/model_options.hpp"
#include "cli/options/outputs.hpp"
#include "cli/output.hpp"
#include "cli/terminal.hpp"
#include "runtime/certify/expectation.hpp"

namespace bittern::cli {
namespace {

constexpr const char* kFooter = R"(Examples:
  bittern certify                                 # the line, on standard output
  bittern certify m.gguf --out here.json          # with a hash for every operation
  bittern certify m.gguf --check there.json       # names the first layer and operation that differ
  bittern certify --check models/certificates.txt # against the lines in the repository

The same on every CPU, whatever -t, -ub, --kernel, --cache and --beside say. Exit code 4: it is not
what --check expects.)";

struct CertifyCommandOptions {
  ModelOptions model;
  ContextOptions context;
  int num_threads = 0;
  std::string prompt_set = "builtin";
  std::string cache = "grow";
  int beside = 0;
  std::string out;
  std::string check;
};

/// Where the full certificate goes, if it is asked for: opened before the work, so that a
/// wrong path is told at once.
Result<std::optional<AtomicFile>> CreateOutput(const std::string& path) {
  if (path.empty()) return std::optional<AtomicFile>();
  return BITTERN_TRY(AtomicFile::Create(path));
}

runtime::CacheUse CacheUseOf(const std::string& name) {
  if (name == "recompute") return runtime::CacheUse::kRecompute;
  return name == "rewind" ? runtime::CacheUse::kRewind : runtime::CacheUse::kGrow;
}

/// The prompts of a file, one a line, with the escapes of -p; none for the built-in ones.
Result<std::vector<std::string>> ReadPromptSet(const std::string& name) {
  std::vector<std::string> prompts;
  if (name == "builtin") return prompts;
  const std::string text = BITTERN_TRY(ReadFileText(name));
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    if (!line.empty() && line != "\r") prompts.push_back(Unescape(line));
    begin = end + 1;
  }
  if (!prompts.empty()) return prompts;
  return Fail(ErrorCode::kInvalidArgument, name + ": one prompt a line expected, none found");
}

/// What --check names: a line as it is, else a file.
Result<std::vector<runtime::Certificate>> ReadExpected(const std::string& check) {
  if (check.starts_with("bittern-certificate")) {
    auto line = BITTERN_TRY(runtime::ParseCertificateLine(check));
    return std::vector{std::move(line)};
  }
  const std::string text = BITTERN_TRY(ReadFileText(check));
  return runtime::ParseCertificates(text).map_error(
      [&](Error error) { return Within(check, std::move(error)); });
}

int Check(const std::vector<runtime::Certificate>& all, const std::string& name,
          const runtime::Certificate& found) {
  const auto [closest, differences, is_other_model] = runtime::CompareWithExpected(all, found);
  const runtime::Certificate& expected = *closest;
  if (differences.empty()) {
    PrintError("check: the same{}\n",
               expected.version == found.version
                   ? ""
                   : fmt::format(" (expected by version {})", expected.version));
    return 0;
  }
  if (is_other_model) {
    PrintError("check: none of the {} certificates in {} belongs to this model\n", all.size(),
               name);
    return kExitDiffers;
  }
  for (const std::string& difference : differences) {
    PrintError("check: {}\n", difference);
  }
  if (!expected.is_full()) {
    PrintError(
        "check: to find the first layer that differs, run `bittern certify MODEL --out good.json` "
        "where the result is right, then `bittern certify MODEL --check good.json` here\n");
  }
  return kExitDiffers;
}

Result<runtime::Certificate> Make(const CertifyCommandOptions& options,
                                  const std::vector<runtime::Certificate>& expected) {
  runtime::CertifyOptions certify;
  BITTERN_TRY(CheckContextOptions(options.context));
  certify.prompts = BITTERN_TRY(ReadPromptSet(options.prompt_set));
  const auto model = BITTERN_TRY(LoadModel(options.model, options.num_threads));
  NoticeUnreadOverrides(options.model.overrides, model->model.checkpoint().metadata());
  certify.session = BITTERN_TRY(ToSessionOptions(options.context, options.num_threads, *model));
  certify.cache = CacheUseOf(options.cache);
  certify.companions = options.beside;
  certify.version = BITTERN_VERSION;
  if (expected.size() == 1 && expected[0].is_full()) certify.expected = &expected[0];
  ProgressLine progress;
  certify.on_progress = [&](double done) {
    progress.ShowIfSlow(fmt::format("certifying: {:.0f} %", 100 * done));
  };
  return runtime::Certify(model, certify);
}

Result<void> WriteFull(std::optional<AtomicFile>* file, const runtime::Certificate& certificate) {
  if (!*file) return {};
  BITTERN_TRY((*file)->Write(CertificateJson(certificate)));
  return (*file)->Commit();
}

int CertifyCommand(const CertifyCommandOptions& options) {
  std::vector<runtime::Certificate> expected;
  if (!options.check.empty()) {
    auto read = ReadExpected(options.check);
    if (!read) return Report(read.error());
    expected = *std::move(read);
  }
  auto full = CreateOutput(options.out);
  if (!full) return Report(full.error(), kExitRuntime);
  const auto certificate = Make(options, expected);
  if (!certificate) return Report(certificate.error());
  StandardOutput out;
  out.Write(CertificateLine(*certificate) + "\n");
  if (const auto written = out.Status(); !written) return Report(written.error(), kExitRuntime);
  if (const auto written = WriteFull(&*full, *certificate); !written) {
    return ReportOutput(written.error(), options.out);
  }
  return expected.empty() ? 0 : Check(expected, options.check, *certificate);
}

}  // namespace

void AddCertify(CLI::App& app, int* exit_code) {
  CLI::App* command =
      app.add_subcommand("certify", "Fingerprint a model's answers, and compare fingerprints");
  const auto options = std::make_shared<CertifyCommandOptions>();
  AddModelOptions(*command, &options->model, /*takes_argument=*/true);
  AddComputeOptions(*command, &options->model);
  command
      ->add_option("--prompt-set", options->prompt_set,
                   "Prompts to run: builtin, or a file with one a line")
      ->type_name("builtin|FILE")
      ->capture_default_str();
  command
      ->add_option("--out", options->out,
                   "Also write the full certificate: a hash for every operation of every layer")
      ->type_name("FILE")
      ->check(PlainFile());
  command
      ->add_option("--check", options->check,
                   "Compare with a certificate line, a file of lines or a full certificate")
      ->type_name("LINE|FILE");
  AddThreadsOption(*command, &options->num_threads);
  AddBatchOptions(*command, &options->context);
  command
      ->add_option("--cache", options->cache,
                   "What is done with the KV cache: grow, recompute (the whole text once more) or "
                   "rewind (other tokens run and taken back)")
      ->type_name("NAME")
      ->transform(OneOf({"grow", "recompute", "rewind"}))
      ->capture_default_str();
  command
      ->add_option("--beside", options->beside,
                   "Sessions that generate from the same model at the same time")
      ->type_name("N")
      ->check(WholeNumber(0, 64))
      ->capture_default_str();
  command->footer(kFooter);
  AddForceOption(*command);
  command->callback([options, exit_code] { *exit_code = CertifyCommand(*options); });
}

}  // namespace bittern::cli
