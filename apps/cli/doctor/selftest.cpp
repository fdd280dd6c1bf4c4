// SPDX-License-Identifier: Apache-2.0
// `bittern selftest`: does this program compute on this machine what it computes everywhere?
#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/default_model.hpp"
#include "cli/doctor/selftest_report.hpp"
#include "cli/hub/options.hpp"
#include "cli/hub/pull.hpp"
#include "cli/options/model_options.hpp"
#include "cli/output.hpp"
#include "cli/terminal.hpp"

namespace bittern::cli {
namespace {

constexpr const char* kSelftestExample = R"(Examples:
  bittern selftest
  bittern selftest -m model.gguf
  bittern selftest --json | jq '.tests[] | select(.state == "failed")'

Takes some seconds, less than a minute. Exit codes: 0 nothing is wrong (what is slow or could not be
checked is said), 4 something is wrong.)";

struct SelftestCommandOptions {
  std::string path;
  int num_threads = 0;
  bool json = false;
};

const char* ColourOf(selftest::State state) {
  switch (state) {
    case selftest::State::kOk:
      return "\x1b[32m";
    case selftest::State::kFailed:
      return "\x1b[31m";
    case selftest::State::kSlow:
      return "\x1b[33m";
    case selftest::State::kSkipped:
      break;
  }
  return "\x1b[2m";
}

int RunSelftestCommand(const SelftestCommandOptions& options) {
  const auto path = hub::LocalModel(options.path);
  if (!path) return Report(path.error());
  ProgressLine progress;
  const auto report = MakeSelftest(*path, options.num_threads,
                                   [&](std::string_view what) { progress.ShowIfSlow(what); });
  progress.Clear();
  StandardOutput output;
  output.Write(options.json ? SelftestJson(report).dump(2, ' ', false,
                                                        nlohmann::json::error_handler_t::replace) +
                                  "\n"
                            : SelftestText(report, UsesColour(stdout)));
  if (const auto status = output.Status(); !status) return Report(status.error(), kExitRuntime);
  return report.ok() ? 0 : kExitDiffers;
}

}  // namespace

selftest::Report MakeSelftest(const std::string& path, int num_threads,
                              const std::function<void(std::string_view)>& on_progress) {
  const char* named = std::getenv("BITTERN_MODEL");
  selftest::SelftestOptions options{
      .shipped = OpenBuiltinModel, .num_threads = num_threads, .version = BITTERN_VERSION};
  if (!path.empty() || (named != nullptr && *named != '\0')) {
    options.given = [&path] { return OpenModelFile(path); };
  }
  options.on_progress = on_progress;
  return selftest::RunSelftest(options);
}

nlohmann::ordered_json SelftestJson(const selftest::Report& report) {
  nlohmann::ordered_json tests = nlohmann::ordered_json::array();
  for (const selftest::Row& row : report.rows) {
    tests.push_back({{"group", row.group},
                     {"name", row.name},
                     {"state", selftest::StateName(row.state)},
                     {"detail", row.detail},
                     {"seconds", row.seconds}});
  }
  return {{"ok", report.ok()}, {"tests", std::move(tests)}, {"seconds", report.seconds}};
}

std::string SelftestText(const selftest::Report& report, bool colour) {
  std::string text, group;
  std::size_t failed = 0;
  for (const selftest::Row& row : report.rows) {
    if (row.group != group) text += fmt::format("{}{}\n", group.empty() ? "" : "\n", row.group);
    group = row.group;
    failed += row.state == selftest::State::kFailed ? 1 : 0;
    text +=
        fmt::format("  {}{:<8}{} {:<26} {}\n", colour ? ColourOf(row.state) : "",
                    selftest::StateName(row.state), colour ? "\x1b[0m" : "", row.name, row.detail);
  }
  text += failed == 0 ? fmt::format("\nNothing is wrong ({:.1f} s).\n", report.seconds)
                      : fmt::format("\n{} of {} checks failed ({:.1f} s).\n", failed,
                                    report.rows.size(), report.seconds);
  return text;
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
  command->add_flag("--json", options->json, "Print one JSON object");
  AddThreadsOption(*command, &options->num_threads);
  command->callback([options, exit_code] { *exit_code = RunSelftestCommand(*options); });
}

}  // namespace bittern::cli
