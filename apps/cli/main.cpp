// SPDX-License-Identifier: Apache-2.0
// The program `bittern`: parses, calls one command, turns every way to fail into an exit code.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <new>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_guard.hpp"
#include "base/standard_streams.hpp"
#include "cli/commands.hpp"
#include "cli/interrupt.hpp"
#include "cli/output.hpp"
#include "cli/suggestion.hpp"
#include "cli/terminal.hpp"

namespace bittern::cli {
namespace {

constexpr const char* kFooter = R"(Example:
  bittern chat
  bittern run -p "A tern is" --temp 0

Without -m the model in $BITTERN_MODEL is used, or the small one built in.
`bittern COMMAND --help` lists the flags of a command.

Exit codes:
  0    done
  1    a flag or value is wrong
  2    the model file is missing, corrupt or not supported
  3    anything else: memory, a full context, output that cannot be written
  4    certify --check: the certificate is not the expected one
  130  interrupted by Ctrl-C)";

/// llama.cpp's flags of one dash and several letters, which the parser would read as clusters
/// of one-letter flags.
constexpr std::array<std::array<std::string_view, 2>, 8> kOneDashFlags = {
    {{"-ub", "--ubatch-size"},
     {"-ctk", "--cache-type-k"},
     {"-ctv", "--cache-type-v"},
     {"-ngl", "--n-gpu-layers"},
     {"-np", "--parallel"},
     {"-temp", "--temp"},
     {"-cnv", "--conversation"},
     {"-sys", "--system-prompt"}}};
/// After these the next argument is free text, whatever it looks like.
constexpr std::array<std::string_view, 7> kTextFlags = {
    "-p", "--prompt", "-r", "--reverse-prompt", "--text", "-sys", "--system-prompt"};

bool IsTextFlag(std::string_view flag) {
  return std::ranges::find(kTextFlags, flag) != kTextFlags.end();
}

/// With long forms in place of those that the parser would misread.
std::vector<std::string> NormaliseArguments(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const bool is_text = i > 0 && IsTextFlag(arguments[i - 1]);
    for (const auto& [short_form, long_form] : kOneDashFlags) {
      if (arguments[i] == short_form && !is_text) arguments[i] = long_form;
    }
  }
  return arguments;
}

/// The command that the arguments name.
const CLI::App& NamedCommand(const CLI::App& app, std::span<const std::string> arguments) {
  const CLI::App* command = &app;
  for (const std::string& argument : arguments) {
    const auto below = command->get_subcommands(
        [&](const CLI::App* candidate) { return candidate->check_name(argument); });
    if (below.empty()) break;
    command = below.front();
  }
  return *command;
}

/// The first flag whose value is the empty text, `-m ""` or `--temp=`: an unset variable of a shell
/// script more often than a wish. Empty where there is none; free text may be empty.
std::string FlagWithoutValue(const CLI::App& command, std::span<const std::string> arguments) {
  for (std::size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    const std::string& argument = arguments[i];
    const bool has_equals = argument.starts_with("--") && argument.ends_with('=');
    const std::string flag = has_equals ? argument.substr(0, argument.size() - 1) : argument;
    if (IsTextFlag(flag)) {
      i += has_equals ? 0 : 1;
      continue;
    }
    const CLI::Option* option = flag.starts_with('-') ? command.get_option_no_throw(flag) : nullptr;
    const bool takes_value = option != nullptr && option->get_items_expected_max() > 0;
    const bool next_is_empty = i + 1 < arguments.size() && arguments[i + 1].empty();
    if (takes_value && (has_equals || next_is_empty)) return flag;
  }
  return "";
}

/// As it was typed: CLI11 knows it by its long form.
std::string AsTyped(const std::string& name, int argc, char** argv) {
  for (const auto& [short_form, long_form] : kOneDashFlags) {
    if (name == long_form && std::find(argv, argv + argc, name) == argv + argc) {
      return std::string(short_form);
    }
  }
  return name;
}

std::vector<std::string> KnownNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

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

/// What was typed wrongly and what to do about it.
int ReportUsage(const CLI::App& app, const CLI::App& command, const std::string& problem, int argc,
                char** argv) {
  std::string message = problem;
  const std::vector<std::string> unknown = command.remaining();
  if (!unknown.empty()) {
    const std::string typed = AsTyped(unknown.front(), argc, argv);
    const char* kind = typed.starts_with('-') ? "flag" : &command == &app ? "command" : "argument";
    message = fmt::format("{} \"{}\" is not known", kind, typed);
    const std::string closest = ClosestName(typed, KnownNames(command));
    if (!closest.empty()) message += fmt::format("; did you mean {}?", closest);
  }
  const int exit_code = Report({ErrorCode::kInvalidArgument, message}, kExitUsage);
  std::string name;
  for (const CLI::App* level = &command; level != &app; level = level->get_parent()) {
    name = " " + level->get_name() + name;
  }
  PrintError("See `bittern{} --help`.\n", name);
  return exit_code;
}

/// --help and --version.
int PrintHelp(const CLI::App& app, const CLI::Success& asked) {
  std::ostringstream text;
  const int exit_code = app.exit(asked, text, text);
  StandardOutput output;
  output.Write(text.str());
  const auto status = output.Status();
  return status ? exit_code : Report(status.error(), kExitRuntime);
}

int Main(int argc, char** argv) {
  CLI::App app("Bittern runs ternary language models (BitNet b1.58) on CPUs.", "bittern");
  app.set_version_flag("--version", "bittern " BITTERN_VERSION);
  app.require_subcommand(1);
  int exit_code = 0;
  AddRun(app, &exit_code);
  AddChat(app, &exit_code);
  AddTokenize(app, &exit_code);
  AddApplyTemplate(app, &exit_code);
  AddInspect(app, &exit_code);
  AddConvert(app, &exit_code);
  AddMeta(app, &exit_code);
  AddLogits(app, &exit_code);
  AddBatch(app, &exit_code);
  AddBench(app, &exit_code);
  AddCertify(app, &exit_code);
  app.footer(kFooter);  // after the commands, which would inherit it
  if (argc <= 1) {
    PrintError("{}", app.help());
    return kExitUsage;
  }
  std::vector<std::string> arguments = NormaliseArguments(argc, argv);
  const CLI::App& command = NamedCommand(app, arguments);
  if (const std::string flag = FlagWithoutValue(command, arguments); !flag.empty()) {
    return ReportUsage(app, command, fmt::format("{}: a value expected, \"\" found", flag), argc,
                       argv);
  }
  try {
    std::ranges::reverse(arguments);  // CLI11 takes them from the back
    app.parse(arguments);
  } catch (const CLI::Success& help_or_version) {
    return PrintHelp(app, help_or_version);
  } catch (const CLI::ParseError& error) {
    return ReportUsage(app, command, WithoutJargon(error.what()), argc, argv);
  }
  return exit_code;
}

}  // namespace
}  // namespace bittern::cli

int main(int argc, char** argv) {
  bittern::OccupyStandardStreams();
  bittern::cli::RemoveFilesOnSignals();
  try {
    if (const auto guarded = bittern::GuardMappedReads(); !guarded) {
      return bittern::cli::Report(guarded.error(), bittern::cli::kExitRuntime);
    }
    return bittern::cli::Main(argc, argv);
  } catch (const std::bad_alloc&) {
    return bittern::cli::Report({bittern::ErrorCode::kOutOfMemory, "out of memory"},
                                bittern::cli::kExitRuntime);
  } catch (const std::exception& error) {
    return bittern::cli::Report({bittern::ErrorCode::kInternal, error.what()},
                                bittern::cli::kExitRuntime);
  }
}
