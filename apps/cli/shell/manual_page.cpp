// SPDX-License-Identifier: Apache-2.0
// Text becomes roff by a few rules: backslashes are doubled, hyphens are those of flags, no line
// begins with a dot or a quote. A page has no date, so that two builds give the same bytes.
#include "cli/shell/manual_page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <string_view>
#include <vector>

#include "cli/options/help.hpp"

namespace bittern::cli {
namespace {

/// A text that roff shows as it is.
std::string Escaped(std::string_view text) {
  std::string out;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    line_begins = c == '\n';
  }
  return out;
}

/// A flag or place with its text, as a paragraph with a hanging name.
std::string Item(const std::string& bold, const std::string& value, std::string_view text) {
  std::string item = ".TP\n\\fB" + Escaped(bold) + "\\fR";
  if (!value.empty()) item += " \\fI" + Escaped(value) + "\\fR";
  return item + "\n" + Escaped(text) + "\n";
}

/// A heading; man pages have them in capitals.
std::string Section(std::string_view title) {
  std::string upper(title);
  for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return fmt::format(".SH \"{}\"\n", Escaped(upper));
}

/// Arguments, then the flags in the groups of --help.
std::string Flags(const CLI::App& command) {
  std::string text;
  for (const CLI::Option* place : Positionals(command)) {
    if (!place->nonpositional()) {
      text += Item("", place->get_name(true), TextOf(*place));
    }
  }
  if (!text.empty()) text = Section("Arguments") + text;
  for (const FlagGroup& group : FlagGroups(command)) {
    text += Section(group.name);
    for (const CLI::Option* flag : group.flags) {
      text +=
          Item(fmt::format("{}", fmt::join(NamesOf(*flag), ", ")), ValueOf(*flag), TextOf(*flag));
    }
  }
  return text;
}

/// "Example:" and the like at the beginning of a line become sections, their lines stay lines.
std::string Footer(std::string_view footer) {
  std::string text;
  bool open = false;
  const auto close = [&] {
    if (open) text += ".fi\n";
    open = false;
  };
  while (!footer.empty()) {
    const std::size_t end = std::min(footer.find('\n'), footer.size());
    const std::string_view line = footer.substr(0, end);
    footer.remove_prefix(std::min(end + 1, footer.size()));
    if (!line.empty() && line.front() != ' ' && line.back() == ':') {
      close();
      text += Section(line.substr(0, line.size() - 1)) + ".nf\n";
      open = true;
    } else if (line.empty()) {
      close();
      text += ".PP\n";
    } else {
      text += Escaped(line) + "\n";
    }
  }
  close();
  return text;
}

/// Sections of a command below another one, "meta set", which has no page of its own.
std::string Action(const CLI::App& action) {
  std::string text = Section("Action " + action.get_name());
  text += ".B " + Escaped(UsageOf(action)) + "\n.PP\n" + Escaped(action.get_description()) + ".\n";
  for (const FlagGroup& group : FlagGroups(action)) {
    for (const CLI::Option* flag : group.flags) {
      text +=
          Item(fmt::format("{}", fmt::join(NamesOf(*flag), ", ")), ValueOf(*flag), TextOf(*flag));
    }
  }
  return text;
}

/// The program's page names those of all commands, theirs the program's.
std::string SeeAlso(const CLI::App& command) {
  std::string text = Section("See also");
  if (command.get_parent() != nullptr) return text + ".BR bittern (1)\n";
  std::string separator;
  for (const CLI::App* other : CommandsOf(command)) {
    text += separator + ".BR " + Escaped(ManualPageName(*other)) + " (1)";
    separator = ",\n";
  }
  return text + "\n";
}

}  // namespace

std::string ManualPageName(const CLI::App& command) {
  return command.get_parent() == nullptr
             ? command.get_name()
             : command.get_parent()->get_name() + "-" + command.get_name();
}

std::string ManualPage(const CLI::App& command) {
  const std::string name = ManualPageName(command);
  std::string text = fmt::format(".TH \"{}\" 1 \"\" \"bittern {}\" \"User commands\"\n",
                                 Escaped(name), BITTERN_VERSION);
  const bool is_program = command.get_parent() == nullptr;
  const std::string what =
      is_program ? "Run ternary language models (BitNet b1.58) on CPUs" : command.get_description();
  text += Section("Name") + Escaped(name) + " \\- " + Escaped(what) + "\n";
  text += Section("Synopsis") + ".B " + Escaped(UsageOf(command)) + "\n";
  if (is_program) {
    text += Section("Commands");
    for (const CLI::App* below : CommandsOf(command)) {
      text += Item(below->get_name(), "", below->get_description());
    }
  }
  text += Flags(command);
  if (!is_program) {
    for (const CLI::App* action : CommandsOf(command)) text += Action(*action);
  }
  return text + Footer(command.get_footer()) + SeeAlso(command);
}

}  // namespace bittern::cli
