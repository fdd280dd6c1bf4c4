// SPDX-License-Identifier: Apache-2.0
// A flag's group is looked up by its name, so that it is the same in every command; what is not in
// the table belongs to the command itself. tests/manual_test.py reads this text and compares it
// with docs/cli.md: "  -x, --name VALUE  Text (default: value)".
#include "cli/options/help.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/arguments.hpp"
#include "cli/shared/option_spelling.hpp"

namespace bittern::cli {
namespace {

constexpr std::size_t kWidth = 80, kTextColumn = 26;

constexpr std::string_view kCommon = "Common flags", kOwn = "Flags of this command",
                           kSampling = "How the next token is picked", kExpert = "Expert flags";
constexpr std::string_view kGroups[] = {kCommon, kOwn, kSampling, kExpert};

/// A heading of the help and the flags below it. Each name stands between spaces, so that a search
/// cannot find a part of a longer one.
struct GroupOf {
  std::string_view group, names;
};
constexpr GroupOf kGroupTable[] = {
    {kCommon,
     " --model --prompt --predict --threads --system-prompt --ctx-size --verbose --quiet --help "},
    {kSampling,
     " --ignore-eos --sampling-seq --stop-on-loop "
     "--grammar --grammar-file --json-schema --json-schema-file --regex "},
    {kExpert,
     " --override-kv --i2s-layout --tl-tiling --kernel --head --zero-skip --activations "
     "--batch-kernel "
     "--batch-size "
     "--ubatch-size --cache-type-k --cache-type-v --spec --special --prompt-ids --parse-special "
     "--escape --context-policy --cache --beside --prompt-set --scale-type --tiling "},
};

/// The headings of the commands. One that stands nowhere comes under the last.
constexpr GroupOf kCommandTable[] = {
    {"Talk and answer", " chat run embed batch serve ps "},
    {"Models", " pull models rm inspect convert meta "},
    {"Find faults, and prove answers", " doctor selftest certify verify trace report "},
    {"Measure", " bench eval logits "},
    {"Tokens and the shell", ""},
};

/// The row of the table for a command, and its place in that row.
std::pair<const GroupOf*, std::size_t> PlaceOfCommand(const CLI::App& command) {
  for (const GroupOf& row : kCommandTable) {
    const std::size_t place = row.names.find(fmt::format(" {} ", command.get_name()));
    if (place != std::string_view::npos) return {&row, place};
  }
  return {std::end(kCommandTable) - 1, 0};
}

/// The heading for a flag; the sampler's own table says which of its flags are common.
std::string_view GroupOfOption(const CLI::Option& option) {
  for (const std::string& name : option.get_lnames()) {
    const request::SamplerOption* row = SamplerOptionOfFlag("--" + name);
    if (row != nullptr) return row->common ? kCommon : kSampling;
  }
  for (const GroupOf& row : kGroupTable) {
    for (const std::string& name : option.get_lnames()) {
      if (row.names.find(fmt::format(" --{} ", name)) != std::string_view::npos) return row.group;
    }
  }
  return kOwn;
}

/// `text` in lines that fit the width, each but the first one indented.
std::string Wrapped(std::string_view text, std::size_t column) {
  std::string result;
  std::size_t used = column;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    if (used > column && used + 1 + word.size() > kWidth) {
      result += "\n" + std::string(column, ' ');
      used = column;
    } else if (used > column) {
      result += ' ';
      ++used;
    }
    result += word;
    used += word.size();
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result + "\n";
}

/// Name and text, the text in its own column, below a name that reaches into it.
std::string Row(const std::string& name, std::string_view text) {
  std::string row = "  " + name;
  if (text.empty()) return row + "\n";
  const bool fits = row.size() + 2 <= kTextColumn;
  row += fits ? std::string(kTextColumn - row.size(), ' ') : "\n" + std::string(kTextColumn, ' ');
  return row + Wrapped(text, kTextColumn);
}

}  // namespace

std::vector<std::string> NamesOf(const CLI::Option& flag) {
  std::vector<std::string> names;
  for (const std::string& name : flag.get_snames()) names.push_back("-" + name);
  for (const FlagAlias& alias : kFlagAliases) {
    if (flag.check_name(std::string(alias.name))) names.emplace_back(alias.alias);
  }
  for (const std::string& name : flag.get_lnames()) names.push_back("--" + name);
  return names;
}

std::string ValueOf(const CLI::Option& flag) {
  if (flag.get_items_expected_max() == 0) return "";
  const std::string value = flag.get_type_name();
  return value.substr(0, value.find(fmt::format(":{}", kChoices)));
}

/// CLI11 shows validators only behind the name of the value: "TYPE:one of f16 f32".
std::string ChoicesOf(const CLI::Option& option) {
  const std::string value = option.get_type_name(), mark = fmt::format(":{}", kChoices);
  const std::size_t found = value.find(mark);
  return found == std::string::npos ? "" : value.substr(found + mark.size());
}

std::string TextOf(const CLI::Option& option) {
  std::string text = option.get_description();
  const std::string value = option.get_default_str();
  if (option.get_required()) text += " (required)";
  if (!value.empty()) text += fmt::format(" (default: {})", value);
  return text;
}

/// The flags of a command by heading. If all stand under one, that is "Flags".
std::vector<FlagGroup> FlagGroups(const CLI::App& app) {
  std::vector<FlagGroup> groups;
  for (const std::string_view name : kGroups) {
    const auto flags = app.get_options([&](const CLI::Option* option) {
      return option->nonpositional() && GroupOfOption(*option) == name;
    });
    if (flags.empty()) continue;
    groups.push_back({flags.size() == app.get_options().size() ? "Flags" : name, flags});
  }
  return groups;
}

std::vector<const CLI::Option*> Positionals(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) { return option->get_positional(); });
}

/// The program has them in the order of the table.
std::vector<const CLI::App*> CommandsOf(const CLI::App& app) {
  auto commands = app.get_subcommands([](const CLI::App*) { return true; });
  if (app.get_parent() != nullptr) return commands;
  std::ranges::stable_sort(commands, {}, [](const CLI::App* one) { return PlaceOfCommand(*one); });
  return commands;
}

std::string UsageOf(const CLI::App& app) {
  std::string name = app.get_name();
  for (const CLI::App* level = app.get_parent(); level != nullptr; level = level->get_parent()) {
    name = level->get_name() + " " + name;
  }
  if (!CommandsOf(app).empty()) name += app.get_parent() == nullptr ? " COMMAND" : " ACTION";
  for (const CLI::Option* option : Positionals(app)) {
    const std::string place = option->get_name(true);
    name += option->get_required() ? " " + place : fmt::format(" [{}]", place);
  }
  return name + " [FLAG...]";
}

namespace {

std::string NamesAndValue(const CLI::Option& flag) {
  const std::string value = ValueOf(flag);
  return fmt::format("{}{}{}", fmt::join(NamesOf(flag), ", "), value.empty() ? "" : " ", value);
}

/// The text of --help: usage, arguments, commands, flags by group, examples.
class HelpFormatter final : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string, CLI::AppFormatMode) const override {
    std::string text = fmt::format("{}\n\nUsage: {}\n", app->get_description(), UsageOf(*app));
    std::string places;
    for (const CLI::Option* option : Positionals(*app)) {
      if (!option->nonpositional()) places += Row(option->get_name(true), TextOf(*option));
    }
    if (!places.empty()) text += "\n" + places;
    std::string_view last;
    for (const CLI::App* command : CommandsOf(*app)) {
      const auto group =
          app->get_parent() == nullptr ? PlaceOfCommand(*command).first->group : "Actions";
      if (group != last) text += fmt::format("\n{}:\n", last = group);
      text += Row(command->get_name(), command->get_description());
    }
    for (const FlagGroup& group : FlagGroups(*app)) {
      text += fmt::format("\n{}:\n", group.name);
      for (const CLI::Option* flag : group.flags) text += Row(NamesAndValue(*flag), TextOf(*flag));
    }
    if (!app->get_footer().empty()) text += "\n" + app->get_footer() + "\n";
    return text;
  }
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> MakeHelpFormatter() {
  return std::make_shared<HelpFormatter>();
}

}  // namespace bittern::cli
