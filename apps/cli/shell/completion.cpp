// SPDX-License-Identifier: Apache-2.0
// The three scripts say the same: after `bittern` come commands, after a command its flags, its
// words and, where it takes a file, files; after a flag the values that it takes: known ones, names
// of known models, files of its kind before others. Values of other kinds are not guessed.
#include "cli/shell/completion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>
#include <vector>

#include "cli/options/first_words.hpp"
#include "cli/options/help.hpp"
#include "cli/shared/wording.hpp"
#include "hub/known_models.hpp"

namespace bittern::cli {
namespace {

constexpr const char* kNotice = "# Made by `bittern completion {}`.\n";

std::string NamesOfKnownModels() {
  std::string names;
  for (const hub::KnownModel& model : hub::KnownModels()) names += fmt::format(" {}", model.name);
  return names.substr(std::min<std::size_t>(1, names.size()));
}

/// Values that may stand behind a flag or at a place of a command.
struct Values {
  std::string words = {};          ///< known values, between spaces
  bool is_file = false;            ///< a file or a folder
  std::string_view ending = kAll;  ///< which files come first: ".gguf"

  static constexpr std::string_view kAll = "", kFolders = "/";
};

/// The ending of files that an option takes; a place goes by its name.
std::string_view EndingOf(const CLI::Option& option, std::string_view placeholder) {
  constexpr std::pair<const char*, std::string_view> kEndings[] = {
      {"--model", ".gguf"},
      {"IN", ".gguf"},
      {"FILE", ".gguf"},
      {"--like", ".gguf"},
      {"--fix", ".gguf"},
      {"--grammar-file", ".gbnf"},
      {"--json-schema-file", ".json"},
      {"--resume", ".json"},
      {"--save", ".json"},
      {"--chat-template-file", ".jinja"},
      {"--ssl-cert-file", ".pem"},
      {"--ssl-key-file", ".pem"},
      {"--html", ".html"}};
  if (placeholder == "DIR" || placeholder == "FOLDER") return Values::kFolders;
  for (const auto& [name, ending] : kEndings) {
    if (option.check_name(name)) return ending;
  }
  return Values::kAll;
}

/// `option`: a flag, or a place where a value stands without one.
Values ValuesOf(const CLI::Option& option, bool is_place) {
  constexpr std::string_view kFiles[] = {"FILE",  "OUT",  "IN",    "DIR",     "FOLDER",
                                         "MODEL", "file", "input", "HEALTHY", "PART..."};
  std::string placeholder = is_place ? option.get_name(true) : ValueOf(option);
  placeholder.erase(0, placeholder.rfind('|') + 1);
  Values values{.words = ChoicesOf(option)};
  if (option.check_name("--hf-repo") || option.check_name("--model")) {
    values.words = NamesOfKnownModels();
  }
  values.is_file = std::ranges::find(kFiles, placeholder) != std::end(kFiles);
  if (values.is_file) values.ending = EndingOf(option, placeholder);
  return values;
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

/// The values after a command without a flag: its actions, and those of its places and
/// theirs.
Values PlacesOf(const CLI::App& program, const CLI::App& command) {
  Values places{.words = fmt::format("{}", fmt::join(NamesOfCommands(command), " "))};
  const auto add_file = [&](const Values& values) {
    if (!values.is_file) return;
    places.ending = places.is_file && places.ending != values.ending ? Values::kAll : values.ending;
    places.is_file = true;
  };
  for (const CLI::App* action : CommandsOf(command)) add_file(PlacesOf(program, *action));
  for (const CLI::Option* place : Positionals(command)) {
    const Values values = ValuesOf(*place, /*is_place=*/true);
    add_file(values);
    if (!values.words.empty()) places.words = values.words;
    if (place->get_name(true) == "COMMAND") {
      places.words = fmt::format("{}", fmt::join(NamesOfCommands(program), " "));
    }
  }
  if (command.get_name() == "pull" || command.get_name() == "rm") {
    places.words = NamesOfKnownModels();
  }
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

/// Lines that set what comes after a flag: `words` between spaces, `ending` of files.
std::string BashValues(const CLI::App& command) {
  std::string lines;
  for (const CLI::Option* flag : FlagsOf(command)) {
    const Values values = ValuesOf(*flag, /*is_place=*/false);
    if (values.words.empty() && values.ending.empty()) continue;
    lines += fmt::format("        {}) words='{}' ending='{}' ;;\n", fmt::join(NamesOf(*flag), "|"),
                         values.words, values.ending);
  }
  return lines.empty() ? "" : fmt::format("      case $before in\n{}      esac\n", lines);
}

/// The case of one command: flags that take files, flags that take other values, all flags, and
/// what may stand without one.
std::string BashCase(const CLI::App& program, const CLI::App& command) {
  const auto is_file = [](const CLI::Option& flag) { return ValuesOf(flag, false).is_file; };
  const auto files = NamesWhere(command, is_file);
  const auto others = NamesWhere(
      command, [&](const auto& flag) { return !ValueOf(flag).empty() && !is_file(flag); });
  const auto flags = NamesWhere(command, [](const auto&) { return true; });
  const Values places = PlacesOf(program, command);
  return fmt::format(
      "    {})\n      files=' {} '\n      values=' {} '\n      flags='{}'\n"
      "      if [[ $files$values == *\" $before \"* ]]; then\n{}        :\n"
      "      else\n        words='{}' file={} ending='{}'\n      fi\n      ;;\n",
      fmt::join(WordsOf(command), "|"), fmt::join(files, " "), fmt::join(others, " "),
      fmt::join(flags, " "), BashValues(command), places.words, places.is_file ? "yes" : "",
      places.ending);
}

/// A description as zsh and fish show it beside a flag: one sentence.
std::string Short(const std::string& text) { return text.substr(0, text.find(": ")); }

/// The action of _arguments for some values; empty where nothing is known of them.
std::string ZshAction(const Values& values) {
  if (!values.is_file) return values.words.empty() ? "" : fmt::format("({})", values.words);
  std::string files = "_files";
  if (values.ending == Values::kFolders) {
    files += " -/";
  } else if (!values.ending.empty()) {
    files += fmt::format(" -g \"*{}\"", values.ending);
  }
  if (values.words.empty()) return files;
  return fmt::format(" _alternative \"words:name:({})\" {}", values.words,
                     ShellQuoted("files:file:" + files));
}

/// Lines for _arguments of zsh. '*' lets a flag come again; brackets and colons end parts there.
std::string ZshFlag(const CLI::Option& flag) {
  std::string text = Short(flag.get_description());
  for (const char c : {'[', ']', ':'}) std::erase(text, c);
  std::string takes;
  if (!ValueOf(flag).empty()) {
    takes = ":value:";
    const std::string action = ZshAction(ValuesOf(flag, /*is_place=*/false));
    for (const char c : action.empty() ? " " : action)
      takes += c == ':' ? "\\:" : std::string(1, c);
  }
  std::string lines;
  for (const std::string& name : NamesOf(flag)) {
    lines +=
        fmt::format("        {} \\\n", ShellQuoted(fmt::format("*{}[{}]{}", name, text, takes)));
  }
  return lines;
}

/// The part of a `complete` line of fish that says which values there are.
std::string FishValues(const Values& values) {
  std::string words = values.words;
  if (values.ending == Values::kFolders) {
    words += " (__fish_complete_directories)";
  } else if (values.is_file && !values.ending.empty()) {
    words += fmt::format(" (__fish_complete_suffix {})", values.ending);
  }
  if (words.empty()) return "";
  return fmt::format(" -k -a {}", ShellQuoted(words));
}

/// A `complete` line of fish: -l for long names, -s for letters, -o for names such as -ctk.
std::string FishFlag(std::string_view command, const CLI::Option& flag) {
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
  const Values values = ValuesOf(flag, /*is_place=*/false);
  const bool any_file = values.is_file && values.ending.empty();
  std::string takes;
  if (!ValueOf(flag).empty()) takes = (any_file ? " -r -F" : " -x") + FishValues(values);
  return fmt::format("complete -c bittern -n '__fish_seen_subcommand_from {}'{}{} -d {}\n", command,
                     names, takes, ShellQuoted(Short(flag.get_description())));
}

/// The lines of what may stand after a command without a flag.
std::string FishPlaces(std::string_view command, const Values& places) {
  const std::string condition =
      fmt::format("complete -c bittern -n '__fish_seen_subcommand_from {}'", command);
  std::string lines;
  if (!places.is_file || !places.ending.empty()) lines += condition + " -f\n";
  if (const std::string values = FishValues(places); !values.empty()) {
    lines += condition + values + "\n";
  }
  return lines;
}

}  // namespace

std::string BashCompletion(const CLI::App& program) {
  std::string cases;
  for (const CLI::App* command : CommandsOf(program)) cases += BashCase(program, *command);
  return fmt::format(kNotice, "bash") +
         R"(_bittern() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
  local files values flags words= file= ending=
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
  if [[ $word == -* && $values$files != *" $before "* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$word")
    return
  fi
  [[ $files == *" $before "* ]] && file=yes
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word"
    [[ ! $file ]] || case $ending in
      '') compgen -f -- "$word" ;;
      /) compgen -d -- "$word" ;;
      *) compgen -d -- "$word"; compgen -f -X "!*$ending" -- "$word" ;;
    esac)
  [[ ${COMPREPLY[*]} || ! $file ]] || mapfile -t COMPREPLY < <(compgen -f -- "$word")
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
      commands += fmt::format("      {}\n", ShellQuoted(word + ":" + text));
    }
    cases += fmt::format("    {})\n      _arguments \\\n", fmt::join(WordsOf(*command), "|"));
    for (const CLI::Option* flag : FlagsOf(*command)) cases += ZshFlag(*flag);
    const std::string action = ZshAction(PlacesOf(program, *command));
    cases += fmt::format("        {}\n      ;;\n",
                         ShellQuoted(action.empty() ? "*: : " : "*:word:" + action));
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
                          ShellQuoted(command->get_description()));
    }
    for (const CLI::Option* flag : FlagsOf(*command)) {
      text += FishFlag(fmt::format("{}", fmt::join(words, " ")), *flag);
    }
    text += FishPlaces(fmt::format("{}", fmt::join(words, " ")), PlacesOf(program, *command));
  }
  return text;
}

}  // namespace bittern::cli
