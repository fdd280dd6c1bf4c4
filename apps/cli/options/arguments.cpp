// SPDX-License-Identifier: Apache-2.0
// A small state machine over the words: each is a flag of ours, the value of one, a foreign flag
// with an answer of its own, or a positional argument.
#include "cli/options/arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/text/closest_name.hpp"
#include "base/text/display.hpp"
#include "cli/options/foreign_flags.hpp"
#include "cli/options/help.hpp"
#include "hub/known_models.hpp"
#include "hub/reference.hpp"

namespace bittern::cli {
namespace {

/// After these the next word is free text, whatever it looks like.
constexpr std::string_view kTextFlags[] = {"--prompt",  "--reverse-prompt", "--system-prompt",
                                           "--grammar", "--json-schema",    "--regex"};

/// The command `name` directly below `app`; null if there is none.
const CLI::App* FindCommand(const CLI::App& app, const std::string& name) {
  const auto found =
      app.get_subcommands([&](const CLI::App* command) { return command->check_name(name); });
  return found.empty() ? nullptr : found.front();
}

/// All names that could have been meant, for "did you mean".
std::vector<std::string> KnownNames(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* below : CommandsOf(command)) names.push_back(below->get_name());
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  for (const FlagAlias& alias : kFlagAliases) {
    if (command.get_option_no_throw(std::string(alias.name)) == nullptr) continue;
    names.emplace_back(alias.alias);
  }
  return names;
}

bool IsFlag(std::string_view word) { return word.size() > 1 && word.front() == '-'; }

/// llama.cpp reads --top_k as --top-k.
std::string WithDashes(std::string name) {
  if (name.starts_with("--")) std::ranges::replace(name, '_', '-');
  return name;
}

/// The option that `name` is, whole: a name of its own or an alias.
const CLI::Option* FindOption(const CLI::App& command, const std::string& name) {
  for (const FlagAlias& alias : kFlagAliases) {
    if (name == alias.alias) return command.get_option_no_throw(std::string(alias.name));
  }
  if (!name.starts_with("--") && name.size() != 2) return nullptr;
  return command.get_option_no_throw(WithDashes(name));
}

bool TakesValue(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

/// True if any text may follow, also one that looks like a flag.
bool IsTextFlag(const CLI::Option& option) {
  return std::ranges::find(kTextFlags, option.get_name()) != std::end(kTextFlags);
}

tl::unexpected<Error> UsageError(std::string message) {
  return Fail(ErrorCode::kInvalidArgument, std::move(message));
}

/// "--name=value" apart; the value is absent without "=".
struct Word {
  explicit Word(const std::string& word) : name(word) {
    const std::size_t equals = word.find('=');
    if (!word.starts_with("--") || equals == std::string::npos) return;
    name = word.substr(0, equals);
    value = word.substr(equals + 1);
  }
  std::string name;
  std::optional<std::string> value;
};

/// Reads the words after a command.
class Reader {
 public:
  Reader(const CLI::App& command, std::span<const std::string> words, Arguments* arguments)
      : command_(command),
        runs_model_(command.get_option_no_throw("--model") != nullptr),
        words_(words),
        out_(*arguments) {}

  Result<void> Read() {
    while (next_ < words_.size()) {
      const std::string& word = words_[next_++];
      if (word == "--") {
        out_.words.push_back(word);
        for (; next_ < words_.size(); ++next_) AddPositional(words_[next_]);
      } else if (IsFlag(word)) {
        BITTERN_TRY(ReadFlag(word));
      } else {
        AddPositional(word);
      }
    }
    NamePositionals();
    return CheckPositionals();
  }

 private:
  void AddPositional(const std::string& word) {
    out_.words.push_back(word);
    positionals_.push_back(word);
  }

  /// Our own flags come first, so that a name which both programs have means ours.
  Result<void> ReadFlag(const std::string& typed) {
    const Word word(typed);
    if (word.name == "--version") {
      out_.wants_version = true;
      return {};
    }
    if (const CLI::Option* option = FindOption(command_, word.name)) {
      return ReadOwn(*option, word);
    }
    const ForeignFlag* foreign =
        FindForeignFlag(WithDashes(word.name), command_.get_name(), runs_model_);
    if (foreign != nullptr) return ReadForeign(*foreign, word);
    return Unknown(word.name);
  }

  /// Puts the flag and its value in CLI11's form. A value that is itself a flag of ours means that
  /// the value was forgotten; numbers such as -1 pass.
  Result<void> ReadOwn(const CLI::Option& option, const Word& word) {
    out_.typed[option.get_name()] = word.name;
    const std::string name = option.get_name();
    if (!TakesValue(option)) {
      // The name itself says on or off.
      const bool is_alias = word.name.size() > 2 && !word.name.starts_with("--");
      out_.words.push_back(is_alias ? name : WithDashes(word.name));
      if (word.value) return UsageError(fmt::format("{} takes no value", word.name));
      return {};
    }
    std::optional<std::string> value = word.value;
    if (!value && next_ < words_.size()) value = words_[next_++];
    if (!value) return UsageError(fmt::format("{}: a value is missing", word.name));
    if (!IsTextFlag(option)) {
      if (value->empty())
        return UsageError(fmt::format("{}: a value expected, \"\" found", word.name));
      if (IsFlag(*value) && FindOption(command_, *value) != nullptr) {
        return UsageError(fmt::format("{}: a value is missing before {}", word.name, *value));
      }
    }
    out_.words.push_back(name);
    AddValue(option, word.name, *value);
    out_.words.push_back(*std::move(value));
    return ReadFurtherValues(option, word);
  }

  /// For an option that takes several values, e.g. --compare A B, or all up to the next flag, e.g.
  /// --merge PART...
  Result<void> ReadFurtherValues(const CLI::Option& option, const Word& word) {
    const int wanted = option.get_items_expected_min();
    for (int i = 1; i < wanted; ++i) {
      if (next_ >= words_.size() || IsFlag(words_[next_])) {
        return UsageError(fmt::format("{}: {} values expected, {} found", word.name, wanted, i));
      }
      AddValue(option, word.name, words_[next_]);
      out_.words.push_back(words_[next_++]);
    }
    const bool takes_more = option.get_type_name().ends_with("...");
    while (takes_more && next_ < words_.size() && !IsFlag(words_[next_])) {
      AddValue(option, word.name, words_[next_]);
      out_.words.push_back(words_[next_++]);
    }
    return {};
  }

  void AddValue(const CLI::Option& option, const std::string& typed, const std::string& text) {
    if (!IsTextFlag(option)) out_.values.push_back({option.get_name(), typed, text});
  }

  /// The arguments' places in order; the last one takes the rest.
  void NamePositionals() {
    std::size_t next = 0;
    for (const CLI::Option* option : command_.get_options()) {
      if (!option->get_positional()) continue;
      const std::string name = option->get_name(/*positional=*/true);
      for (int i = 0; i < option->get_items_expected_max() && next < positionals_.size(); ++i) {
        out_.values.push_back({option->get_name(), name, positionals_[next++]});
      }
    }
  }

  /// Drops a foreign flag with its value, or refuses it with the sentence of its row. A harmless
  /// value makes it one to drop.
  Result<void> ReadForeign(const ForeignFlag& flag, const Word& word) {
    std::string value = word.value.value_or("");
    const bool more = !word.value && next_ < words_.size();
    const bool takes = flag.value == ForeignValue::kOne ||
                       (flag.value == ForeignValue::kSwitch && more && IsSwitchWord(words_[next_]));
    if (more && takes) value = words_[next_++];
    if (flag.kind == ForeignKind::kIgnored || flag.IsHarmless(value)) {
      const bool remark = flag.kind == ForeignKind::kIgnored && !flag.sentence.empty();
      out_.ignored.push_back(remark ? fmt::format("{} ({})", word.name, flag.sentence) : word.name);
      return {};
    }
    return UsageError(fmt::format("{} is not a flag of `bittern {}`: {}", word.name,
                                  command_.get_name(), flag.sentence));
  }

  /// Refuses a flag, and names the closest one.
  tl::unexpected<Error> Unknown(const std::string& name) const {
    std::string message = fmt::format("flag \"{}\" is not known", name);
    // "-t4": a letter with its value behind it.
    const std::string letter = name.substr(0, 2);
    const CLI::Option* option = FindOption(command_, letter);
    if (option != nullptr && name.size() > 2 && letter != "--" && TakesValue(*option)) {
      const bool number = name.find_first_not_of("0123456789.-", 2) == std::string::npos;
      if (number)
        return UsageError(fmt::format("{}; did you mean {} {}?", message, letter, name.substr(2)));
    }
    const std::string closest = ClosestName(name, KnownNames(command_));
    if (!closest.empty()) message += fmt::format("; did you mean {}?", closest);
    return UsageError(std::move(message));
  }

  /// Other words end up as the model file by mistake, since that may stand without -m.
  Result<void> CheckPositionals() const {
    std::size_t places = 0;
    bool wants_model = false;
    for (const CLI::Option* option : command_.get_options()) {
      if (!option->get_positional()) continue;
      places += static_cast<std::size_t>(option->get_items_expected_max());
      wants_model = wants_model || option->check_lname("model");
    }
    const bool has_prompt = command_.get_option_no_throw("--prompt") != nullptr;
    if (positionals_.size() > places) {
      const char* hint = !runs_model_ ? ""
                         : has_prompt ? " (for a model file use -m FILE, for a prompt -p \"TEXT\")"
                                      : " (for a model file use -m FILE)";
      return UsageError(fmt::format("unexpected argument \"{}\"{}", positionals_[places], hint));
    }
    if (wants_model && !positionals_.empty() && out_.typed.contains("--model")) {
      return UsageError(fmt::format(
          "the model is given more than once: {} and \"{}\"{}", out_.typed.at("--model"),
          positionals_[0],
          has_prompt ? fmt::format("; for a prompt use -p \"{}\"", positionals_[0]) : ""));
    }
    std::error_code ignored;
    if (!wants_model || positionals_.empty() || positionals_[0].empty() ||
        positionals_[0].starts_with(hub::kScheme) || hub::IsAddress(positionals_[0]) ||
        hub::ReferenceNotPath(positionals_[0]) ||
        std::filesystem::exists(positionals_[0], ignored)) {
      return {};
    }
    const std::string closest = hub::ClosestKnownName(positionals_[0]);
    return Fail(ErrorCode::kNotFound,
                fmt::format("{}: there is no such model file{}", positionals_[0],
                            has_prompt ? " (a prompt needs -p before it: -p \"TEXT\")" : ""),
                closest.empty() ? "" : fmt::format("did you mean the model {}?", closest));
  }

  const CLI::App& command_;
  bool runs_model_;
  std::span<const std::string> words_;
  Arguments& out_;
  std::size_t next_ = 0;
  std::vector<std::string> positionals_ = {};
};

/// Words as a shell takes them, a blank before each.
std::string InShell(std::span<const std::string> words) {
  std::string text;
  for (const std::string& word : words) {
    const bool plain =
        !word.empty() && word.find_first_of(" \t\n'\"$`\\*?&|;<>(){}[]!#~") == std::string::npos;
    text += plain ? " " + word : " " + Quoted(word, 200);
  }
  return text;
}

/// A word behind a command of several actions that is none of them.
tl::unexpected<Error> UnknownAction(const CLI::App& command, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* below : CommandsOf(command)) names.push_back(below->get_name());
  std::string message =
      fmt::format("action \"{}\" is not known; one of {} expected", word, fmt::join(names, ", "));
  if (const std::string closest = ClosestName(word, names); !closest.empty()) {
    message += fmt::format("; did you mean {}?", closest);
  }
  if (command.get_require_subcommand_min() == 0) {
    message += fmt::format("; `bittern {}` alone lists", command.get_name());
  }
  return UsageError(std::move(message));
}

/// A first word that names no command.
tl::unexpected<Error> UnknownCommand(const CLI::App& app, std::span<const std::string> words) {
  const std::string& word = words[0];
  if (IsFlag(word)) {
    const std::string name = Word(word).name;
    const CLI::App* run = FindCommand(app, "run");
    const ForeignFlag* foreign = FindForeignFlag(WithDashes(name), "run", true);
    if (run != nullptr && (foreign != nullptr || FindOption(*run, name) != nullptr)) {
      return UsageError(
          fmt::format("{} needs a command before it: `bittern run{}`", name, InShell(words)));
    }
    return UsageError(fmt::format("flag \"{}\" is not known", name));
  }
  std::error_code ignored;
  if (word.ends_with(".gguf") || std::filesystem::exists(word, ignored)) {
    return UsageError(
        fmt::format("\"{}\" is not a command; to use this model: `bittern chat {}`", word, word));
  }
  std::string message = fmt::format("command \"{}\" is not known", word);
  const std::string closest = ClosestName(word, KnownNames(app));
  if (!closest.empty()) message += fmt::format("; did you mean {}?", closest);
  return UsageError(std::move(message));
}

}  // namespace

std::string Arguments::AsTyped(std::string message) const {
  const std::size_t end = message.find_first_of(": ");
  const auto found = typed.find(message.substr(0, end));
  if (found == typed.end() || end == std::string::npos) return message;
  return found->second + message.substr(end);
}

const CLI::App& NamedCommand(const CLI::App& app, std::span<const std::string> words) {
  const CLI::App* command = &app;
  for (const std::string& word : words) {
    const CLI::App* below = FindCommand(*command, word);
    if (below == nullptr) break;
    command = below;
  }
  return *command;
}

Result<Arguments> ReadArguments(const CLI::App& app, std::span<const std::string> words) {
  Arguments arguments;
  arguments.command = &app;
  const std::string first = words.empty() ? "" : words[0];
  if (first == "help") {
    arguments.words.assign(words.begin() + 1, words.end());
    arguments.command = &NamedCommand(app, arguments.words);
    arguments.words.emplace_back("--help");
    return arguments;
  }
  arguments.wants_version = words.size() == 1 && (first == "-v" || first == "-V");
  if (arguments.wants_version || FindOption(app, first) != nullptr) {
    arguments.words.assign(words.begin(), words.end());
    return arguments;
  }
  const CLI::App& command = NamedCommand(app, words);
  arguments.command = &command;
  if (&command == &app) return UnknownCommand(app, words);
  for (const CLI::App* level = &command; level != &app; level = level->get_parent()) {
    arguments.words.push_back(words.front());
    words = words.subspan(1);
  }
  if (!CommandsOf(command).empty() && !words.empty() && !IsFlag(words[0])) {
    return UnknownAction(command, words[0]);
  }
  BITTERN_TRY(Reader(command, words, &arguments).Read());
  return arguments;
}

std::string IgnoredNotice(const Arguments& arguments) {
  if (arguments.ignored.empty()) return {};
  return fmt::format("notice: not needed here and ignored: {}\n",
                     fmt::join(arguments.ignored, ", "));
}

}  // namespace bittern::cli
