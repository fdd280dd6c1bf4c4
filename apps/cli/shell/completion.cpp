// SPDX-License-Identifier: Apache-2.0
// The three scripts say the same: after `bittern` come commands, after a command its flags, its
// words and, where it takes a file, files; after a flag the values that it takes. Values of other
// kinds are not guessed.
#include "cli/shell/completion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>
#include <vector>

#include "cli/options/first_words.hpp"
#include "cli/options/help.hpp"
#include "hub/known_models.hpp"

namespace bittern::cli {
namespace {

constexpr const char* kNotice = "# Made by `bittern completion {}`.\n";

/// True for a placeholder such as FILE or NAME|FILE: the shell completes names of files there.
bool IsFile(std::string_view value) {
  constexpr std::string_view kKinds[] = {"FILE",   "OUT",   "IN",   "DIR",
                                         "FOLDER", "MODEL", "file", "input"};
  value.remove_prefix(value.rfind('|') + 1);
  return std::ranges::find(kKinds, value) != std::end(kKinds);
}

std::string NamesOfKnownModels() {
  std::string names;
  for (const hub::KnownModel& model : hub::KnownModels()) names += fmt::format(" {}", model.name);
  return names.substr(std::min<std::size_t>(1, names.size()));
}

/// The values of a flag, between spaces; empty where they are not known.
std::string ValuesOf(const CLI::Option& flag) {
  return flag.check_name("--hf-repo") ? NamesOfKnownModels() : ChoicesOf(flag);
}

std::vector<const CLI::Option*> FlagsOf(const CLI::App& command) {
  std::vector<const CLI::Option*> all;
  for (const FlagGroup& group : FlagGroups(command)) {
    all.insert(all.end(), group.flags.begin(), group.flags.end());
  }
  return all;
}

/// Names of the flags that `wanted` is true of.
template <class Wanted>
std::vector<std::string> NamesWhere(const CLI::App& command, Wanted wanted) {
  std::vector<std::string> names;
  for (const CLI::Option* flag : FlagsOf(command)) {
    if (!wanted(*flag)) continue;
    for (std::string& name : NamesOf(*flag)) names.push_back(std::move(name));
  }
  return names;
}

std::vector<std::string> NamesOfCommands(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : CommandsOf(app)) names.push_back(command->get_name());
  return names;
}

/// The words that may stand after a command without a flag.
struct Places {
  std::string words;        ///< actions, and values that are known, between spaces
  bool takes_file = false;  ///< of the command or of an action
};

Places PlacesOf(const CLI::App& program, const CLI::App& command) {
  Places places{.words = fmt::format("{}", fmt::join(NamesOfCommands(command), " "))};
  for (const CLI::App* action : CommandsOf(command)) {
    places.takes_file |= PlacesOf(program, *action).takes_file;
  }
  for (const CLI::Option* place : Positionals(command)) {
    const std::string name = place->get_name(true);
    places.takes_file |= IsFile(name);
    if (name == "COMMAND")
      places.words = fmt::format("{}", fmt::join(NamesOfCommands(program), " "));
    if (const std::string choices = ChoicesOf(*place); !choices.empty()) places.words = choices;
  }
  if (command.get_name() == "pull") places.words = NamesOfKnownModels();
  return places;
}

/// The words that stand for a command: its name, and those of other programs.
std::vector<std::string> WordsOf(const CLI::App& command) {
  std::vector<std::string> words = OtherWordsOf(command.get_name());
  words.insert(words.begin(), command.get_name());
  return words;
}

std::vector<std::string> WordsOfCommands(const CLI::App& program) {
  std::vector<std::string> words;
  for (const CLI::App* command : CommandsOf(program)) {
    for (std::string& word : WordsOf(*command)) words.push_back(std::move(word));
  }
  return words;
}

/// Text between single quotes of a shell.
std::string Quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

/// Lines that set `choices` after a flag with known values.
std::string BashChoices(const CLI::App& command) {
  std::string lines;
  for (const CLI::Option* flag : FlagsOf(command)) {
    if (ValuesOf(*flag).empty()) continue;
    lines += fmt::format("        {}) choices='{}' ;;\n", fmt::join(NamesOf(*flag), "|"),
                         ValuesOf(*flag));
  }
  return lines.empty() ? "" : fmt::format("      case $before in\n{}      esac\n", lines);
}

/// The case of one command: flags that take files, flags that take other values, all flags, and
/// what may stand without one.
std::string BashCase(const CLI::App& program, const CLI::App& command) {
  const auto files = NamesWhere(command, [](const auto& flag) { return IsFile(ValueOf(flag)); });
  const auto others = NamesWhere(
      command, [](const auto& flag) { return !ValueOf(flag).empty() && !IsFile(ValueOf(flag)); });
  const auto flags = NamesWhere(command, [](const auto&) { return true; });
  const Places places = PlacesOf(program, command);
  return fmt::format(
      "    {})\n      files=' {} '\n      values=' {} '\n      flags='{}'\n      words='{}'\n"
      "      file={}\n{}      ;;\n",
      fmt::join(WordsOf(command), "|"), fmt::join(files, " "), fmt::join(others, " "),
      fmt::join(flags, " "), places.words, places.takes_file ? "yes" : "", BashChoices(command));
}

/// A description as zsh and fish show it beside a flag: one sentence.
std::string Short(const std::string& text) { return text.substr(0, text.find(": ")); }

/// Lines for _arguments of zsh. '*' lets a flag come again; brackets and colons end parts there.
std::string ZshFlag(const CLI::Option& flag) {
  std::string text = Short(flag.get_description());
  for (const char c : {'[', ']', ':'}) std::erase(text, c);
  const std::string value = ValueOf(flag), values = ValuesOf(flag);
  std::string takes;
  if (!values.empty()) {
    takes = fmt::format(":value:({})", values);
  } else if (!value.empty()) {
    takes = IsFile(value) ? ":file:_files" : ":value: ";
  }
  std::string lines;
  for (const std::string& name : NamesOf(flag)) {
    lines += fmt::format("        {} \\\n", Quoted(fmt::format("*{}[{}]{}", name, text, takes)));
  }
  return lines;
}

/// A `complete` line of fish: -l for long names, -s for letters, -o for names such as -ctk.
std::string FishFlag(std::string_view command, const CLI::Option& flag) {
  const std::string value = ValueOf(flag);
  std::string names;
  for (const std::string& name : NamesOf(flag)) {
    if (name.starts_with("--")) {
      names += " -l " + name.substr(2);
    } else if (name.size() == 2) {
      names += " -s " + name.substr(1);
    } else {
      names += " -o " + name.substr(1);
    }
  }
  const std::string values = ValuesOf(flag);
  std::string takes = value.empty() ? "" : IsFile(value) ? " -r -F" : " -x";
  if (!values.empty()) takes = fmt::format(" -x -a {}", Quoted(values));
  return fmt::format("complete -c bittern -n '__fish_seen_subcommand_from {}'{}{} -d {}\n", command,
                     names, takes, Quoted(Short(flag.get_description())));
}

}  // namespace

std::string BashCompletion(const CLI::App& program) {
  std::string cases;
  for (const CLI::App* command : CommandsOf(program)) cases += BashCase(program, *command);
  return fmt::format(kNotice, "bash") +
         R"(_bittern() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
  local files values flags words file choices
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W ')" +
         fmt::format("{}", fmt::join(WordsOfCommands(program), " ")) +
         R"( --help --version' -- "$word")
    return
  fi
  case ${COMP_WORDS[1]} in
)" + cases +
         R"(    *) return ;;
  esac
  compopt -o filenames
  if [[ $choices ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$word")
  elif [[ $files == *" $before "* ]]; then
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  elif [[ $values == *" $before "* ]]; then
    COMPREPLY=()
  elif [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$word")
  else
    mapfile -t COMPREPLY < <([[ $file ]] && compgen -f -- "$word"; compgen -W "$words" -- "$word")
  fi
}
complete -F _bittern bittern
)";
}

std::string ZshCompletion(const CLI::App& program) {
  std::string commands, cases;
  for (const CLI::App* command : CommandsOf(program)) {
    std::string text = command->get_description();
    std::erase(text, ':');
    for (const std::string& word : WordsOf(*command)) {
      commands += fmt::format("      {}\n", Quoted(word + ":" + text));
    }
    cases += fmt::format("    {})\n      _arguments \\\n", fmt::join(WordsOf(*command), "|"));
    for (const CLI::Option* flag : FlagsOf(*command)) cases += ZshFlag(*flag);
    const Places places = PlacesOf(program, *command);
    if (!places.words.empty()) {
      cases += fmt::format("        '1:word:({})' \\\n", places.words);
    }
    cases += places.takes_file ? "        '*:file:_files'\n" : "        '*: : '\n";
    cases += "      ;;\n";
  }
  return "#compdef bittern\n" + fmt::format(kNotice, "zsh") +
         "_bittern() {\n  if (( CURRENT == 2 )); then\n    local -a commands\n    commands=(\n" +
         commands +
         "    )\n    _describe command commands\n    return\n  fi\n  local command=${words[2]}\n"
         "  shift words\n  (( CURRENT -= 1 ))\n  case $command in\n" +
         cases +
         "  esac\n}\nif [ \"${funcstack[1]}\" = _bittern ]; then\n  _bittern \"$@\"\nelse\n"
         "  compdef _bittern bittern\nfi\n";
}

std::string FishCompletion(const CLI::App& program) {
  std::string text = fmt::format(kNotice, "fish");
  text += "complete -c bittern -n __fish_use_subcommand -f\n";
  for (const CLI::App* command : CommandsOf(program)) {
    const std::vector<std::string> words = WordsOf(*command);
    for (const std::string& word : words) {
      text += fmt::format("complete -c bittern -n __fish_use_subcommand -a {} -d {}\n", word,
                          Quoted(command->get_description()));
    }
    for (const CLI::Option* flag : FlagsOf(*command)) {
      text += FishFlag(fmt::format("{}", fmt::join(words, " ")), *flag);
    }
    const Places places = PlacesOf(program, *command);
    if (!places.takes_file) {
      text += fmt::format("complete -c bittern -n '__fish_seen_subcommand_from {}' -f\n",
                          fmt::join(words, " "));
    }
    if (!places.words.empty()) {
      text += fmt::format("complete -c bittern -n '__fish_seen_subcommand_from {}' -a '{}'\n",
                          fmt::join(words, " "), places.words);
    }
  }
  return text;
}

}  // namespace bittern::cli
