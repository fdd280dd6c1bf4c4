// SPDX-License-Identifier: Apache-2.0
// The program `bittern`: parses, calls one command, turns every way to fail into an exit code.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.hpp"
#include "cli/suggestion.hpp"

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
constexpr std::array<std::array<std::string_view, 2>, 7> kOneDashFlags = {
    {{"-ub", "--ubatch-size"},
     {"-ctk", "--cache-type-k"},
     {"-ctv", "--cache-type-v"},
     {"-ngl", "--n-gpu-layers"},
     {"-temp", "--temp"},
     {"-cnv", "--conversation"},
     {"-sys", "--system-prompt"}}};
/// After these the next argument is free text, whatever it looks like.
constexpr std::array<std::string_view, 6> kTextFlags = {
    "-p", "--prompt", "-r", "--reverse-prompt", "--text", "--system-prompt"};

std::vector<std::string> NormaliseArguments(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const bool is_text =
        i > 0 && std::ranges::find(kTextFlags, arguments[i - 1]) != kTextFlags.end();
    for (const auto& [short_form, long_form] : kOneDashFlags) {
      if (arguments[i] == short_form && !is_text) arguments[i] = long_form;
    }
  }
  std::ranges::reverse(arguments);  // CLI11 takes them from the back
  return arguments;
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

/// CLI11's "Could not convert: --temp = warm" in the words of all other messages. Only numbers are
/// converted.
std::string WithoutJargon(std::string_view what) {
  constexpr std::string_view kStart = "Could not convert: ", kEquals = " = ";
  const std::size_t equals = what.find(kEquals);
  if (!what.starts_with(kStart) || equals == std::string_view::npos) return std::string(what);
  return fmt::format("{}: a number expected, \"{}\" found",
                     what.substr(kStart.size(), equals - kStart.size()),
                     what.substr(equals + kEquals.size()));
}

/// What was typed wrongly and what to do about it.
int ReportUsage(const CLI::App& app, const CLI::ParseError& error) {
  const auto chosen = app.get_subcommands();
  const CLI::App& command = chosen.empty() ? app : *chosen.front();
  std::string message = WithoutJargon(error.what());
  const std::vector<std::string> unknown = command.remaining();
  if (!unknown.empty()) {
    const std::string& typed = unknown.front();
    const char* kind = typed.starts_with('-') ? "flag" : chosen.empty() ? "command" : "argument";
    message = fmt::format("{} \"{}\" is not known", kind, typed);
    const std::string closest = ClosestName(typed, KnownNames(command));
    if (!closest.empty()) message += fmt::format("; did you mean {}?", closest);
  }
  const int exit_code = Report({ErrorCode::kInvalidArgument, message}, kExitUsage);
  fmt::print(stderr, "See `bittern{}{} --help`.\n", chosen.empty() ? "" : " ",
             chosen.empty() ? "" : command.get_name());
  return exit_code;
}

int Main(int argc, char** argv) {
  CLI::App app("Bittern runs ternary language models (BitNet b1.58) on CPUs.", "bittern");
  app.set_version_flag("--version", "bittern " BITTERN_VERSION);
  app.require_subcommand(1);
  int exit_code = 0;
  AddRun(app, &exit_code);
  AddChat(app, &exit_code);
  AddTokenize(app, &exit_code);
  AddInspect(app, &exit_code);
  AddConvert(app, &exit_code);
  AddMeta(app, &exit_code);
  AddLogits(app, &exit_code);
  AddBench(app, &exit_code);
  AddCertify(app, &exit_code);
  app.footer(kFooter);  // after the commands, which would inherit it
  if (argc <= 1) {
    fmt::print(stderr, "{}", app.help());
    return kExitUsage;
  }
  try {
    app.parse(NormaliseArguments(argc, argv));
  } catch (const CLI::Success& help_or_version) {
    return app.exit(help_or_version);
  } catch (const CLI::ParseError& error) {
    return ReportUsage(app, error);
  }
  return exit_code;
}

}  // namespace
}  // namespace bittern::cli

int main(int argc, char** argv) {
  try {
    return bittern::cli::Main(argc, argv);
  } catch (const std::bad_alloc&) {
    return bittern::cli::Report({bittern::ErrorCode::kOutOfMemory, "out of memory"},
                                bittern::cli::kExitRuntime);
  } catch (const std::exception& error) {
    return bittern::cli::Report({bittern::ErrorCode::kInternal, error.what()},
                                bittern::cli::kExitRuntime);
  }
}
