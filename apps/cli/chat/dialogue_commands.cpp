// SPDX-License-Identifier: Apache-2.0
// Lines that begin with '/'. In a pipe only those of old are commands, which touch neither files
// nor settings: there a line may come from anywhere.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/json/json.hpp"
#include "base/text/display.hpp"
#include "base/utf8.hpp"
#include "cli/chat/chat_settings.hpp"
#include "cli/chat/dialogue.hpp"
#include "cli/options/model_options.hpp"
#include "cli/options/outputs.hpp"
#include "cli/shared/terminal.hpp"
#include "grammar/constraint.hpp"
#include "report/chat_stats.hpp"
#include "request/settings.hpp"

namespace bittern::cli {
namespace {

/// The text of a token in quotes; a part of a letter as its bytes, "<C3>".
std::string ShownBytes(std::string_view bytes) {
  if (ReplaceInvalidUtf8(bytes) == bytes) return Quoted(bytes, 40);
  std::string shown;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    shown += byte < 0x80 ? Printable(std::string_view(&c, 1)) : fmt::format("<{:02X}>", byte);
  }
  return shown;
}

/// The members as /set lists them: first those that people set, then the others by name.
std::vector<std::pair<std::string, Json>> InOrder(const Json& settings) {
  constexpr std::string_view kFirst[] = {"temperature", "top_k", "top_p",     "min_p",
                                         "seed",        "stop",  "n_predict", "repeat_penalty"};
  std::vector<std::pair<std::string, Json>> rows;
  for (const auto& [name, value] : settings.members()) rows.emplace_back(name, value);
  const auto place = [&](const auto& row) {
    return std::pair(std::ranges::find(kFirst, row.first) - kFirst, std::string_view(row.first));
  };
  std::ranges::sort(rows, {}, place);
  return rows;
}

}  // namespace

/// The table of commands: a name, and a function of the dialogue and of the words behind the name.
struct ChatCommands {
  using Handled = Dialogue::Handled;
  /// One command: its names without '/', divided by spaces, what may follow it, and its help.
  struct Row {
    const char *names, *argument, *help;
    bool in_pipes;
    Result<Handled> (*run)(Dialogue&, const std::string&);
  };
  static const Row kRows[];

  /// The row of a name without its '/', null: there is none.
  static const Row* Find(std::string_view name) {
    for (const Row* row = kRows; row->names != nullptr; ++row) {
      std::string_view names = row->names;
      while (!names.empty()) {
        const std::size_t end = std::min(names.find(' '), names.size());
        if (names.substr(0, end) == name) return row;
        names.remove_prefix(std::min(end + 1, names.size()));
      }
    }
    return nullptr;
  }

  /// /undo: the conversation without its last turn.
  static Result<Handled> Undo(Dialogue& d, const std::string&) {
    const auto turn = BITTERN_TRY(d.talk_.Undo());
    PrintError("notice: forgotten: {}; turns left: {}\n", Quoted(turn.user, 60),
               d.talk_.chat().turns().size());
    return Handled::kDone;
  }
  /// /retry: says the last message again, in place of its turn.
  static Result<Handled> Retry(Dialogue& d, const std::string&) {
    const std::string message = BITTERN_TRY(d.talk_.LastMessage());
    if (d.talk_.options().sampler.temperature <= 0) {
      PrintError("notice: at temperature 0 the reply is the same again; /set temperature 0.8\n");
    }
    (void)d.Answer(message, /*replaces=*/true);
    return Handled::kDone;
  }
  /// /edit [TEXT]: replaces the last message. Without TEXT the next line is read with the old
  /// message in it.
  static Result<Handled> Edit(Dialogue& d, const std::string& text) {
    const std::string message = BITTERN_TRY(d.talk_.LastMessage());
    if (!text.empty()) {
      (void)d.Answer(text, /*replaces=*/true);
    } else {
      d.to_edit_ = message;
    }
    return Handled::kDone;
  }
  /// /system [TEXT]: shows or sets the system prompt; "off" removes it.
  static Result<Handled> System(Dialogue& d, const std::string& text) {
    if (text.empty()) {
      PrintError("{}\n", d.talk_.chat().system().empty()
                             ? "There is no system prompt."
                             : Printable(d.talk_.chat().system(), 4000));
      return Handled::kDone;
    }
    BITTERN_TRY(d.talk_.SetSystem(text == "off" ? "" : text));
    PrintError("notice: {}; it holds from the next turn on\n",
               text == "off" ? "no system prompt" : "a new system prompt");
    return Handled::kDone;
  }
  /// The file of /save and /load: the one given, else the last one that either used.
  static Result<std::string> FileOf(const Dialogue& d, const std::string& given) {
    if (!given.empty()) return given;
    if (!d.file_.empty()) return d.file_;
    return Fail(ErrorCode::kInvalidArgument, "the name of a file expected");
  }
  /// /save [FILE]: a file of another kind is never replaced.
  static Result<Handled> Save(Dialogue& d, const std::string& given) {
    const std::string path = BITTERN_TRY(FileOf(d, given));
    BITTERN_TRY(CheckChatFile(path));
    BITTERN_TRY(runtime::WriteSavedChatFile(path, d.talk_.Saved()));
    d.file_ = path;
    PrintError("notice: {} turns saved to {}\n", d.talk_.chat().turns().size(),
               Printable(path, 300));
    return Handled::kDone;
  }
  /// /load [FILE]: takes the conversation and its settings.
  static Result<Handled> Load(Dialogue& d, const std::string& given) {
    const std::string path = BITTERN_TRY(FileOf(d, given));
    BITTERN_TRY(d.Resume(path));
    d.told_of_drop_ = false;
    PrintError("notice: {} turns loaded from {}\n", d.talk_.chat().turns().size(),
               Printable(path, 300));
    return Handled::kDone;
  }
  /// /set: all settings. /set NAME: one of them. /set NAME VALUE or NAME=VALUE: changes it from the
  /// next reply on.
  static Result<Handled> Set(Dialogue& d, const std::string& text) {
    if (text.empty()) {
      for (const auto& [name, value] : InOrder(request::SettingsOf(d.talk_.options()))) {
        PrintError("{} {}\n", name, value.Dump());
      }
      return Handled::kDone;
    }
    const std::size_t end = std::min(text.find_first_of(" ="), text.size());
    const std::string name = text.substr(0, end);
    const std::size_t value = text.find_first_not_of(" =", end);
    if (value == std::string::npos) {
      const auto settings = request::SettingsOf(d.talk_.options());
      const auto* known = settings.Find(name);
      if (known == nullptr) {
        return Fail(ErrorCode::kInvalidArgument, "a name and a value expected: /set top_k 20");
      }
      PrintError("{} {}\n", name, known->Dump());
      return Handled::kDone;
    }
    BITTERN_TRY(ReadChatSetting(name, TypedValue(text.substr(value)), d.talk_.model(),
                                d.talk_.mutable_options()));
    return Handled::kDone;
  }
  static Result<Handled> Stats(Dialogue& d, const std::string&) {
    PrintError("{}", report::ChatStatsText(d.talk_.chat(), d.totals_));
    return Handled::kDone;
  }
  /// Tokens of a text, or of the last reply.
  static Result<Handled> Tokens(Dialogue& d, const std::string& text) {
    const auto ids = BITTERN_TRY(d.talk_.TokensOf(text));
    const tokenizer::Tokenizer& tokenizer = d.talk_.model().tokenizer;
    std::string shown;
    for (const runtime::TokenId id : ids) {
      shown += fmt::format("{}{} {}", shown.empty() ? "" : "  ", id,
                           ShownBytes(tokenizer.TokenBytes(id, true)));
    }
    PrintError("{} tokens{}{}\n", ids.size(), ids.empty() ? "" : ": ", shown);
    return Handled::kDone;
  }
  /// /json: constrains the next reply only. The argument is a schema if it begins with '{', else a
  /// file with one; without it any JSON object will do.
  static Result<Handled> Json(Dialogue& d, const std::string& text) {
    using grammar::ConstraintKind;
    if (text == "off") {
      d.talk_.ConstrainNothing();
      PrintError("notice: the next reply is free\n");
      return Handled::kDone;
    }
    grammar::Constraint constraint{ConstraintKind::kJsonObject};
    if (text.starts_with('{')) {
      constraint = {ConstraintKind::kJsonSchema, text};
    } else if (!text.empty()) {
      std::string schema = BITTERN_TRY(ReadFileText(text));
      constraint = {ConstraintKind::kJsonSchema, std::move(schema)};
    }
    BITTERN_TRY(d.talk_.ConstrainNext(std::move(constraint)));
    PrintError("notice: the next reply is {}\n",
               text.empty() ? "a JSON object" : "JSON of this schema");
    return Handled::kDone;
  }
  static Result<Handled> Thoughts(Dialogue& d, const std::string&) {
    PrintError("{}\n", d.thoughts_.empty() ? "The last reply has no thoughts." : d.thoughts_);
    return Handled::kDone;
  }
  static Result<Handled> Clear(Dialogue& d, const std::string&) {
    d.talk_.Clear();
    d.told_of_drop_ = false;
    PrintError("notice: a new conversation\n");
    return Handled::kDone;
  }
  static Result<Handled> Exit(Dialogue&, const std::string&) { return Handled::kLeave; }
  static Result<Handled> Help(Dialogue&, const std::string&) {
    PrintError("{}", ChatCommandHelp());
    return Handled::kDone;
  }
};

const ChatCommands::Row ChatCommands::kRows[] = {
    {"undo", "", "forgets the last turn", false, Undo},
    {"retry", "", "another reply to the last message", false, Retry},
    {"edit", "[TEXT]", "changes the last message; its reply comes anew", false, Edit},
    {"system", "[TEXT]", "shows the system prompt, or sets it; off: none", false, System},
    {"save", "[FILE]", "writes the conversation and the settings to a file", false, Save},
    {"load", "[FILE]", "goes on with a saved conversation", false, Load},
    {"set", "[NAME [VALUE]]", "shows the settings, or changes one: /set temperature 0.5", false,
     Set},
    {"stats", "", "tokens read anew, kept and written, and how fast", false, Stats},
    {"tokens", "[TEXT]", "the tokens of the last reply, or of a text", false, Tokens},
    {"json", "[SCHEMA|FILE]", "the next reply is JSON, of this schema; off: free", false, Json},
    {"thoughts", "", "what a model thought before its last reply", false, Thoughts},
    {"clear reset", "", "forgets what was said; the system prompt stays", true, Clear},
    {"exit quit bye", "", "leaves (also Ctrl-D)", true, Exit},
    {"help ?", "", "shows this", true, Help},
    {nullptr, nullptr, nullptr, false, nullptr}};

/// One line for each row of the table, then the keys of the line editor.
std::string ChatCommandHelp() {
  std::string help;
  for (const ChatCommands::Row* row = ChatCommands::kRows; row->names != nullptr; ++row) {
    std::string names = "/";
    for (const char c : std::string_view(row->names)) names += c == ' ' ? ", /" : std::string(1, c);
    if (row->argument[0] != '\0') names += std::string(" ") + row->argument;
    help += fmt::format("{:<22} {}\n", names, row->help);
  }
  return help +
         "Up and Down bring back earlier lines, Alt-Enter begins a new line, a pasted text is one "
         "turn.\nCtrl-C stops a reply, clears a half-typed line, and leaves when pressed twice.\n";
}

/// A command that takes nothing but has words behind it is a turn in a pipe, a mistake at a
/// terminal.
Dialogue::Handled Dialogue::RunCommand(const std::string& line) {
  if (!line.starts_with('/')) return Handled::kTurn;
  const std::size_t end = std::min(line.find_first_of(" \n"), line.size());
  const ChatCommands::Row* row = ChatCommands::Find(std::string_view(line).substr(1, end - 1));
  const std::size_t begin = line.find_first_not_of(" \n", end);
  const std::string argument = begin == std::string::npos ? "" : line.substr(begin);
  const bool takes = row != nullptr && (argument.empty() || row->argument[0] != '\0');
  if (takes && (at_terminal_ || row->in_pipes)) {
    const auto handled = row->run(*this, argument);
    if (handled.has_value()) return *handled;
    PrintError("{}: {}\n", line.substr(0, end), handled.error().message);
    return Handled::kDone;
  }
  // A slip of a person's fingers; a program that sends a line waits for its reply.
  if (!at_terminal_) return Handled::kTurn;
  if (row != nullptr) {
    PrintError("{} takes nothing behind it.\n", line.substr(0, end));
  } else {
    PrintError("Unknown command {}. /help lists the commands.\n", Printable(line.substr(0, end)));
  }
  return Handled::kDone;
}

}  // namespace bittern::cli
