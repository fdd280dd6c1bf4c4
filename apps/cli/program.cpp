// SPDX-License-Identifier: Apache-2.0
// The program: parses, calls one command, turns every way to fail into an exit code.
#include "cli/program.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/mapped_guard.hpp"
#include "base/os/console.hpp"
#include "base/os/environment.hpp"
#include "base/os/file.hpp"
#include "cli/options/arguments.hpp"
#include "cli/options/environment.hpp"
#include "cli/options/first_words.hpp"
#include "cli/options/help.hpp"
#include "cli/options/outputs.hpp"
#include "cli/shared/commands.hpp"
#include "cli/shared/interrupt.hpp"
#include "cli/shared/output.hpp"
#include "cli/shared/page_origin.hpp"
#include "cli/shared/terminal.hpp"
#include "kernels/instruction_sets.hpp"

namespace bittern::cli {
namespace {

constexpr const char* kVersion = "bittern " BITTERN_VERSION;
constexpr const char* kProgramFooter = R"(Example:
  bittern chat
  bittern run -p "A tern is" --temp 0

Without a model, $BITTERN_MODEL is used, else the small built-in model.
`bittern COMMAND --help` lists the flags of a command. Words of Ollama and llama.cpp:
list (models), show (inspect), quantize (convert), perplexity (eval).

Exit codes:
  0    done
  1    a flag or value is wrong
  2    the model file is missing, corrupt or not supported
  3    anything else: memory, a full context, output that cannot be written
  4    certify --check, verify, selftest, trace: not what was expected
  5    selftest: nothing has failed, but checks were skipped for want of time
  6    run: the text was cut before its grammar or schema was done
  10   doctor: something is wrong with the model and can be put right
  11   doctor: something of the model is lost
  12   doctor: cannot tell, or the model is of a kind that is not supported
  130  interrupted by Ctrl-C)";

/// Why `text` is not the number that an option takes.
std::string NotThatNumber(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (*end != '\0' || std::isnan(number)) return "a number expected";
  return number == std::trunc(number) ? "a smaller number expected" : "a whole number expected";
}

/// CLI11's "--temp: Could not convert" and the like in the words of all other messages.
std::string WithoutJargon(const std::string& what) {
  constexpr std::string_view kStart = "Could not convert: ", kEquals = " = ";
  constexpr std::string_view kMost = "At Most 1 required but received ";
  const std::size_t equals = what.find(kEquals), most = what.find(kMost);
  if (what.starts_with(kStart) && equals != std::string::npos) {
    const std::string text = what.substr(equals + kEquals.size());
    return fmt::format("{}: {}, \"{}\" found", what.substr(kStart.size(), equals - kStart.size()),
                       NotThatNumber(text), text);
  }
  if (most != std::string::npos) return what.substr(0, most) + "given more than once";
  if (const std::size_t colon = what.find(": 1 required "); what.ends_with(" missing")) {
    if (colon != std::string::npos) return what.substr(0, colon) + ": a value is missing";
  }
  if (const std::size_t excludes = what.find(" excludes "); excludes != std::string::npos) {
    return what + ": only one of them can be given";
  }
  return what;
}

/// The report of a usage error, with the way out of it.
int ReportUsage(const CLI::App& app, const CLI::App& command, const Error& error) {
  const int exit_code = Report(error);
  std::string name;
  for (const CLI::App* level = &command; level != &app; level = level->get_parent()) {
    name = " " + level->get_name() + name;
  }
  PrintError("See `bittern{} --help`.\n", name);
  return exit_code;
}

int PrintText(const std::string& text) {
  StandardOutput output;
  output.Write(text);
  const auto status = output.Status();
  return status ? 0 : Report(status.error(), kExitRuntime);
}

/// Every command takes --quiet. Main obeys it before the command begins.
void AddQuiet(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands({})) {
    command->add_flag("--quiet,--log-disable")
        ->description("Print no decisions, notices, timings and progress; errors stay");
    AddQuiet(*command);
  }
}

int Main(std::span<const std::string> words) {
  NoteCommand(words);
  CLI::App app("Bittern runs ternary language models (BitNet b1.58) on CPUs.", "bittern");
  app.formatter(MakeHelpFormatter());
  app.set_version_flag("--version", kVersion);
  app.require_subcommand(1);
  app.allow_windows_style_options(false);  // a word that begins with / is a path everywhere
  int exit_code = 0;
  AddChat(app, &exit_code);
  AddRun(app, &exit_code);
  AddTokenize(app, &exit_code);
  AddApplyTemplate(app, &exit_code);
  AddInspect(app, &exit_code);
  AddConvert(app, &exit_code);
  AddMeta(app, &exit_code);
  AddPull(app, &exit_code);
  AddModels(app, &exit_code);
  AddRemove(app, &exit_code);
  AddLogits(app, &exit_code);
  AddEmbed(app, &exit_code);
  AddBatch(app, &exit_code);
  AddServe(app, &exit_code);
  AddServers(app, &exit_code);
  AddVerify(app, &exit_code);
  AddBench(app, &exit_code);
  AddCertify(app, &exit_code);
  AddEval(app, &exit_code);
  AddDoctor(app, &exit_code);
  AddSelftest(app, &exit_code);
  AddReport(app, &exit_code);
  AddTrace(app, &exit_code);
  AddShell(app, &exit_code);
  AddQuiet(app);
  app.footer(kProgramFooter);  // after the commands, which would inherit it
  if (words.empty()) {
    PrintError("{}", app.help());
    return kExitUsage;
  }
  const auto ours = InOurWords(app, words);
  if (!ours) return ReportUsage(app, app, ours.error());
  words = *ours;
  auto arguments = ReadArguments(app, words);
  if (!arguments.has_value()) {
    return ReportUsage(app, NamedCommand(app, words), arguments.error());
  }
  if (arguments->wants_version) return PrintText(std::string(kVersion) + "\n");
  if (const auto checked = CheckOutputs(*arguments); !checked) return Report(checked.error());
  try {
    SetQuiet(arguments->typed.contains("--quiet"));
    PrintRemark("{}", IgnoredNotice(*arguments));
    if (arguments->command->get_option_no_throw("--model") != nullptr) {
      PrintRemark("{}", UnreadVariablesNotice(*arguments->command));
    }
    std::ranges::reverse(arguments->words);  // CLI11 takes them from the back
    app.parse(arguments->words);
  } catch (const CLI::CallForVersion&) {
    return PrintText(std::string(kVersion) + "\n");
  } catch (const CLI::Success&) {
    return PrintText(arguments->command->help());
  } catch (const CLI::ParseError& error) {
    const std::string message = arguments->AsTyped(WithoutJargon(error.what()));
    return ReportUsage(app, *arguments->command, {ErrorCode::kInvalidArgument, message});
  }
  if (exit_code == 0 || exit_code > kExitRuntime) SayWritten();
  return exit_code;
}

}  // namespace

int RunProgram(int argc, char** argv) {
  os::OccupyStandardStreams();
  os::PrepareConsole();
  RemoveFilesOnSignals();
  try {
    if (const auto guarded = GuardMappedReads(); !guarded) {
      return Report(guarded.error(), kExitRuntime);
    }
    kernels::ForceIsa(IsaOfUser());
    return Main(os::CommandLine(argc, argv));
  } catch (const std::bad_alloc&) {
    return Report({ErrorCode::kOutOfMemory, "out of memory"}, kExitRuntime);
  } catch (const std::exception& error) {
    return Report({ErrorCode::kInternal, error.what()}, kExitRuntime);
  }
}

}  // namespace bittern::cli
