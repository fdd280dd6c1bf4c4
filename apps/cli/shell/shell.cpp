// SPDX-License-Identifier: Apache-2.0
// `bittern completion` and `bittern man`: what a shell and man(1) want to know about this program.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>

#include "cli/options/help.hpp"
#include "cli/options/model_options.hpp"
#include "cli/options/outputs.hpp"
#include "cli/shared/commands.hpp"
#include "cli/shared/output.hpp"
#include "cli/shell/completion.hpp"
#include "cli/shell/manual_page.hpp"

namespace bittern::cli {
namespace {

int PrintManual(const std::string& text) {
  StandardOutput output;
  output.Write(text);
  const auto status = output.Status();
  return status ? 0 : Report(status.error(), kExitRuntime);
}

std::string CompletionFor(const CLI::App& program, const std::string& shell) {
  if (shell == "bash") return BashCompletion(program);
  if (shell == "zsh") return ZshCompletion(program);
  return FishCompletion(program);
}

int CompletionCommand(const CLI::App& program, const std::string& shell) {
  return PrintManual(CompletionFor(program, shell));
}

Result<void> WriteFile(const std::filesystem::path& path, const std::string& text) {
  OutputFile file = BITTERN_TRY(OutputFile::Create(path.string()));
  BITTERN_TRY(file.Write(text));
  return file.Close();
}

/// All pages, as files that man(1) finds in a folder named man1.
Result<void> WritePages(const CLI::App& program, const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return Fail(ErrorCode::kIo,
                fmt::format("{}: cannot be made ({})", folder.string(), error.message()));
  }
  const auto write = [&](const CLI::App& page) {
    return WriteFile(folder / (ManualPageName(page) + ".1"), ManualPage(page));
  };
  BITTERN_TRY(write(program));
  for (const CLI::App* command : CommandsOf(program)) BITTERN_TRY(write(*command));
  return {};
}

/// --dir writes all pages; otherwise one page goes to standard output, for `man -l -`.
int ManCommand(const CLI::App& program, const std::string& name, const std::string& folder) {
  if (!folder.empty()) {
    const auto written = WritePages(program, folder);
    return written ? 0 : Report(written.error(), kExitRuntime);
  }
  if (name.empty()) return PrintManual(ManualPage(program));
  for (const CLI::App* command : CommandsOf(program)) {
    if (command->get_name() == name) return PrintManual(ManualPage(*command));
  }
  return Report({ErrorCode::kInvalidArgument,
                 fmt::format("there is no command \"{}\"; `bittern --help` lists them", name)});
}

}  // namespace

void AddShell(CLI::App& app, int* exit_code) {
  CLI::App* completion =
      app.add_subcommand("completion", "Print a script that completes commands in a shell");
  completion->footer("Example:\n  source <(bittern completion bash)");
  const auto shell = std::make_shared<std::string>();
  completion->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->type_name("")
      ->check(OneOf({"bash", "zsh", "fish"}));
  completion->callback([&app, shell, exit_code] { *exit_code = CompletionCommand(app, *shell); });

  CLI::App* man = app.add_subcommand("man", "Print a manual page");
  man->footer("Example:\n  bittern man run | man -l -");
  const auto name = std::make_shared<std::string>(), folder = std::make_shared<std::string>();
  CLI::Option* place = man->add_option("COMMAND", *name, "Its page; without: of bittern itself");
  place->type_name("");
  man->add_option("--dir", *folder, "Write all pages as files into this folder")
      ->type_name("FOLDER")
      ->excludes(place);
  AddForceOption(*man);
  man->callback([&app, name, folder, exit_code] { *exit_code = ManCommand(app, *name, *folder); });
}

}  // namespace bittern::cli
