// SPDX-License-Identifier: Apache-2.0
// One conversation at a terminal or in a pipe: reading lines, showing replies (dialogue.cpp), and
// the commands that begin with '/' (dialogue_commands.cpp).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/chat/chat_options.hpp"
#include "cli/shared/line_terminal.hpp"
#include "cli/shared/output.hpp"
#include "console/history_file.hpp"
#include "report/chat_stats.hpp"
#include "request/chat/conversation.hpp"

namespace bittern::cli {

/// The text of /help: a line for each command.
[[nodiscard]] std::string ChatCommandHelp();

/// Not thread-safe.
class Dialogue {
 public:
  /// Options outlive it.
  Dialogue(const ChatOptions& options, runtime::Chat chat);

  /// Takes a saved conversation, and its settings but for those given on the command line. Errors
  /// as ReadSavedChatFile and Chat::Restore, naming the file.
  [[nodiscard]] Result<void> Resume(const std::string& path);

  /// Until the input ends, /exit, or (with piped input) a turn that fails. Returns the exit code.
  [[nodiscard]] int Run();

 private:
  friend struct ChatCommands;
  enum class Handled { kTurn, kDone, kLeave };

  /// False at the end of the input. Error kIo.
  Result<bool> ReadLine(std::string* line);
  /// The same at a terminal that lines can be edited on.
  Result<bool> EditLine(std::string* line);
  /// Gives the terminal the lines of earlier sessions.
  void OpenHistory();
  /// Keeps a typed line for later sessions.
  void Remember(const std::string& line);
  /// Runs the command that the line is, if it is one.
  Handled RunCommand(const std::string& line);
  /// Says a line, in place of the last turn or after it, and prints the reply; 0, or the exit code
  /// of the failure, which has been reported.
  int Answer(const std::string& line, bool replaces = false);
  int ReportFailure(const Error& error);
  /// Notices about a reply that has been shown.
  void Remark(const runtime::GenerateResult& reply);
  void Banner() const;
  /// One line on standard error, dim on a terminal.
  void Say(std::string_view text) const;

  const ChatOptions& options_;
  request::Conversation talk_;
  StandardOutput out_;
  bool at_terminal_;
  std::optional<LineTerminal> terminal_ = {};
  std::optional<console::HistoryFile> history_ = {};  // at a terminal, unless it cannot be kept
  bool told_of_drop_ = false;
  std::string file_;                         // of /save and /load, the last one
  std::optional<std::string> to_edit_ = {};  // the next line replaces the last turn
  std::string thoughts_;                     // of the last reply
  report::ChatTotals totals_;
};

}  // namespace bittern::cli
