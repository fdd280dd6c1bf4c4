// SPDX-License-Identifier: Apache-2.0
// The three scripts say the same: after `bittern` come commands, after a command its flags and,
// where a word is a file, files. Values of other kinds are not guessed.
#include "cli/shell/completion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>
#include <vector>

#include "cli/options/first_words.hpp"
#include "cli/options/help.hpp"

namespace bittern::cli {
namespace {

constexpr const char* kNotice = "# Made by `bittern completion {}`.\n";

/// True for a placeholder such as FILE or DIR: the shell completes names of files there.
bool IsFile(std::string_view value) {
  return std::ranges::any_of(
      std::initializer_list<std::string_view>{"FILE", "OUT", "IN", "DIR", "FOLDER"},
      [&](std::string_view kind) { return value.find(kind) != std::string_view::npos; });
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

/// The case of one command: flags that take files, flags that take other values, all words.
std::string BashCase(const CLI::App& command) {
  const auto files = NamesWhere(command, [](const auto& flag) { return IsFile(ValueOf(flag)); });
  const auto others = NamesWhere(
      command, [](const auto& flag) { return !ValueOf(flag).empty() && !IsFile(ValueOf(flag)); });
  std::vector<std::string> words = NamesOfCommands(command);  // actions
  for (std::string& name : NamesWhere(command, [](const auto&) { return true; })) {
    words.push_back(std::move(name));
  }
  return fmt::format(
      "    {})\n      files=' {} '\n      values=' {} '\n      words='{}'\n      ;;\n",
      fmt::join(WordsOf(command), "|"), fmt::join(files, " "), fmt::join(others, " "),
      fmt::join(words, " "));
}

/// A description as zsh and fish show it beside a flag: one sentence.
std::string Short(const std::string& text) { return text.substr(0, text.find(": ")); }

/// Lines for _arguments of zsh. '*' lets a flag come again; brackets and colons end parts there.
std::string ZshFlag(const CLI::Option& flag) {
  std::string text = Short(flag.get_description());
  for (const char c : {'[', ']', ':'}) std::erase(text, c);
  const std::string value = ValueOf(flag);
  const std::string takes = value.empty() ? ""
                                          : fmt::format(":{}:{}", IsFile(value) ? "file" : "value",
                                                        IsFile(value) ? "_files" : " ");
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
  const char* takes = value.empty() ? "" : IsFile(value) ? " -r -F" : " -x";
  return fmt::format("complete -c bittern -n '__fish_seen_subcommand_from {}'{}{} -d {}\n", command,
                     names, takes, Quoted(Short(flag.get_description())));
}

}  // namespace

std::string BashCompletion(const CLI::App& program) {
  std::string cases;
  for (const CLI::App* command : CommandsOf(program)) cases += BashCase(*command);
  return fmt::format(kNotice, "bash") +
         R"(_bittern() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} files values words
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
  if [[ $files == *" $before "* ]]; then
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  elif [[ $values == *" $before "* ]]; then
    COMPREPLY=()
  elif [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$word"; compgen -W "${words//-*/}" -- "$word")
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
    const auto actions = NamesOfCommands(*command);
    if (!actions.empty()) {
      cases += fmt::format("        '1:action:({})' \\\n", fmt::join(actions, " "));
    }
    cases += "        '*:file:_files'\n      ;;\n";
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
    const auto actions = NamesOfCommands(*command);
    if (!actions.empty()) {
      text += fmt::format("complete -c bittern -n '__fish_seen_subcommand_from {}' -a '{}'\n",
                          fmt::join(words, " "), fmt::join(actions, " "));
    }
  }
  return text;
}

}  // namespace bittern::cli
