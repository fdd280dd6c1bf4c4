// SPDX-License-Identifier: Apache-2.0
// `bittern certify`: one line that proves what a model answers on this machine, and the comparison
// with the line or file of another machine.
#include "proof/certificate/certify.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <utility>

#include "base/files/atomic_file.hpp"
#include "cli/options/model_options.hpp"
#include "cli/options/outputs.hpp"
#include "cli/shared/commands.hpp"
#include "cli/shared/output.hpp"
#include "cli/shared/terminal.hpp"
#include "proof/certificate/certify_files.hpp"
#include "proof/certificate/expectation.hpp"

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

/// The file of the full certificate, if it is asked for: opened before the work, so that a wrong
/// path is told at once.
Result<std::optional<AtomicFile>> CreateOutput(const std::string& path) {
  if (path.empty()) return std::optional<AtomicFile>();
  return BITTERN_TRY(AtomicFile::Create(path));
}

/// --check: compares with the closest of the expected certificates, and says in sentences what
/// differs.
int Check(const std::vector<proof::Certificate>& all, const std::string& name,
          const proof::Certificate& found) {
  const auto outcome = proof::CompareWithExpected(all, found);
  for (const std::string& text : proof::ExpectationSentences(outcome, found, all.size(), name)) {
    PrintError("check: {}\n", text);
  }
  if (outcome.differences.empty()) return 0;
  if (!outcome.is_other_model && !outcome.closest->is_full()) {
    PrintError(
        "check: to find the first layer that differs, run `bittern certify MODEL --out good.json` "
        "where the result is right, then `bittern certify MODEL --check good.json` here\n");
  }
  return kExitDiffers;
}

/// Loads the model and makes its certificate. A full one that is expected goes along, so that the
/// first operation that differs can be named.
Result<proof::Certificate> Make(const CertifyCommandOptions& options,
                                const std::vector<proof::Certificate>& expected) {
  proof::CertifyOptions certify;
  BITTERN_TRY(CheckContextOptions(options.context));
  if (options.prompt_set != "builtin") {
    certify.prompts = BITTERN_TRY(proof::ReadPromptSet(options.prompt_set));
  }
  const auto model = BITTERN_TRY(LoadModel(options.model, options.num_threads));
  NoticeUnreadOverrides(options.model.overrides, model->model.checkpoint().metadata());
  certify.session = BITTERN_TRY(ToSessionOptions(options.context, options.num_threads, *model));
  certify.cache = proof::CacheUseByName(options.cache).value_or(certify.cache);
  certify.background_loads = options.beside;
  certify.version = BITTERN_VERSION;
  if (expected.size() == 1 && expected[0].is_full()) certify.expected = &expected[0];
  ProgressLine progress;
  certify.on_progress = [&](double done) {
    progress.ShowIfSlow(fmt::format("certifying: {:.0f} %", 100 * done));
  };
  return proof::Certify(model, certify);
}

/// Writes the file of --out, if there is one, with a hash for each operation.
Result<void> WriteFull(std::optional<AtomicFile>* file, const proof::Certificate& certificate) {
  if (!*file) return {};
  BITTERN_TRY((*file)->Write(CertificateJson(certificate)));
  return (*file)->Commit();
}

/// All files are read or opened before the model is loaded.
int CertifyCommand(const CertifyCommandOptions& options) {
  std::vector<proof::Certificate> expected;
  if (!options.check.empty()) {
    auto read = proof::ReadExpectedCertificates(options.check);
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
