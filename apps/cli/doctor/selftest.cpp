// SPDX-License-Identifier: Apache-2.0
// `bittern selftest`: does this program compute on this machine what it computes everywhere?
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <memory>

#include "base/json/json.hpp"
#include "base/os/environment.hpp"
#include "cli/doctor/selftest_command.hpp"
#include "cli/options/default_model.hpp"
#include "cli/options/hub_options.hpp"
#include "cli/options/local_model.hpp"
#include "cli/options/model_options.hpp"
#include "cli/shared/commands.hpp"
#include "cli/shared/output.hpp"
#include "cli/shared/terminal.hpp"
#include "proof/selftest/summary.hpp"

namespace bittern::cli {
namespace {

constexpr const char* kSelftestExample = R"(Examples:
  bittern selftest
  bittern selftest -m model.gguf
  bittern selftest --json | jq '.tests[] | select(.state == "failed")'

Takes some seconds, less than a minute. Exit codes: 0 nothing is wrong (what is slow, or does not apply
to a model that is not known, is said), 4 something is wrong or a model cannot be read, 5 nothing has
failed, but checks were skipped for want of time.)";

struct SelftestCommandOptions {
  std::string path;
  int num_threads = 0;
  double seconds = proof::SelftestOptions{}.seconds;
  bool json = false;
};

/// Exit codes: 0 right, kExitDiffers something is wrong, kExitIncomplete checks were skipped.
int RunSelftestCommand(const SelftestCommandOptions& options) {
  const auto path = LocalModel(options.path);
  if (!path) return Report(path.error());
  ProgressLine progress;
  const auto report = MakeSelftest(*path, options.num_threads, options.seconds,
                                   [&](std::string_view what) { progress.ShowIfSlow(what); });
  progress.Clear();
  StandardOutput output;
  output.Write(options.json ? proof::SelftestJson(report).Dump(2) + "\n"
                            : proof::SelftestText(report, UsesColour(stdout)));
  if (const auto status = output.Status(); !status) return Report(status.error(), kExitRuntime);
  if (!report.ok()) return kExitDiffers;
  return report.complete() ? 0 : kExitIncomplete;
}

}  // namespace

proof::SelftestReport MakeSelftest(const std::string& path, int num_threads, double seconds,
                                   const std::function<void(std::string_view)>& on_progress) {
  const char* named = os::Variable("BITTERN_MODEL");
  proof::SelftestOptions options{.shipped = OpenBuiltinModel,
                                 .num_threads = num_threads,
                                 .seconds = seconds,
                                 .version = BITTERN_VERSION};
  if (!path.empty() || (named != nullptr && *named != '\0')) {
    options.given = [&path] { return OpenModelFile(path); };
  }
  options.on_progress = on_progress;
  return proof::RunSelftest(options);
}

void AddSelftest(CLI::App& app, int* exit_code) {
  CLI::App* command =
      app.add_subcommand("selftest", "Check that this program computes right on this machine");
  command->footer(kSelftestExample);
  const auto options = std::make_shared<SelftestCommandOptions>();
  command
      ->add_option("-m,--model,MODEL", options->path,
                   "Also check this model: a GGUF file or a Hugging Face folder, with or without "
                   "-m; without it $BITTERN_MODEL, if that is set. The built-in model is always "
                   "checked")
      ->type_name("FILE")
      ->check(FileName());
  AddHubModelOptions(*command, &options->path);
  command
      ->add_option("--seconds", options->seconds,
                   "What has not begun after this time is skipped, which the last line says")
      ->type_name("N")
      ->check(CLI::Range(0.0, 86400.0))
      ->capture_default_str();
  command->add_flag("--json", options->json, "Print one JSON object");
  AddThreadsOption(*command, &options->num_threads);
  command->callback([options, exit_code] { *exit_code = RunSelftestCommand(*options); });
}

}  // namespace bittern::cli
