// SPDX-License-Identifier: Apache-2.0
// With a pipe instead of a terminal each line is a turn, and nothing but the replies goes to
// standard output.
#include "cli/chat/dialogue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/text/display.hpp"
#include "cli/chat/chat_settings.hpp"
#include "cli/options/constraint_options.hpp"
#include "cli/options/environment.hpp"
#include "cli/options/sampling_options.hpp"
#include "cli/shared/commands.hpp"
#include "cli/shared/interrupt.hpp"
#include "cli/shared/terminal.hpp"
#include "console/reply_screen.hpp"
#include "hub/known_models.hpp"
#include "report/run_report.hpp"
#include "runtime/sampling/loop_detector.hpp"

namespace bittern::cli {
namespace {

/// Counts words for the line that shows a model's thinking; blanks divide them.
std::size_t WordsOf(std::string_view text) {
  std::size_t words = 0;
  bool inside = false;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\n' || c == '\t';
    words += !blank && !inside ? 1 : 0;
    inside = !blank;
  }
  return words;
}

/// Shows one reply as it comes.
class ReplyWriter {
 public:
  /// `screen`: none where the reply goes out as it is; `folds`: it folds thoughts; `silent`: where
  /// the reply comes as JSON.
  ReplyWriter(StandardOutput* out, std::optional<console::ReplyScreen> screen, bool folds,
              bool silent)
      : out_(out), screen_(std::move(screen)), folds_(folds), silent_(silent) {}

  /// Takes the next piece of the reply. While the model thinks, one line of progress stands for the
  /// thoughts. False stops the reply: nobody reads standard output any more.
  bool Write(std::string_view text) {
    if (silent_ || !screen_) {
      progress_.Clear();
      return silent_ || out_->Write(text);
    }
    const bool was_thinking = thinking_;
    const std::string shown = screen_->Add(text, TerminalColumns());
    thinking_ = folds_ && screen_->fold().thinking();
    if (thinking_) {
      progress_.Show(fmt::format("thinking: {} words", WordsOf(screen_->fold().thoughts())));
      return true;
    }
    if (was_thinking || !shown.empty()) progress_.Clear();
    if (was_thinking) TellOfThoughts();
    return shown.empty() || out_->Write(shown);
  }

  /// Shows what the screen held back, such as a half word of markdown.
  void Finish() {
    progress_.Clear();
    if (silent_ || !screen_) return;
    const std::string rest = screen_->Finish(TerminalColumns());
    if (thinking_) TellOfThoughts();
    out_->Write(rest);
  }

  [[nodiscard]] ProgressLine& progress() noexcept { return progress_; }
  [[nodiscard]] std::string thoughts() const {
    return screen_ ? screen_->fold().thoughts() : std::string();
  }

 private:
  void TellOfThoughts() {
    const bool colour = UsesColour(stderr);
    PrintError("{}(thought in {} words; /thoughts shows them){}\n", colour ? "\x1b[2m" : "",
               WordsOf(screen_->fold().thoughts()), colour ? "\x1b[0m" : "");
  }

  StandardOutput* out_;
  std::optional<console::ReplyScreen> screen_;
  ProgressLine progress_;
  bool folds_, silent_, thinking_ = false;
};

/// A word by which other programs are left; here it is a turn.
bool IsWordToLeave(std::string_view line) {
  constexpr std::string_view kWords[] = {"exit", "quit", "bye", "stop"};
  return std::ranges::find(kWords, line) != std::end(kWords);
}

}  // namespace

/// The model's own sampling values stand for flags that were not given.
Dialogue::Dialogue(const ChatOptions& options, runtime::Chat chat)
    : options_(options), talk_(std::move(chat), options.generate), at_terminal_(IsTerminal(stdin)) {
  runtime::GenerateOptions* generate = talk_.mutable_options();
  TakeSamplingDefaults(*options.command, talk_.model().model.checkpoint().metadata(),
                       options.model.verbose, &generate->sampler);
  for (std::string& stop : generate->stops) stop = Unescape(stop);
}

Result<void> Dialogue::Resume(const std::string& path) {
  runtime::SavedChat saved = BITTERN_TRY(runtime::ReadSavedChatFile(path));
  // Settings of the command line go before saved ones.
  const bool given = terminal_ ? false : options_.command->count("--system-prompt") != 0;
  if (given) saved.system = options_.system;
  const auto foreign =
      talk_.Take(std::move(saved), [&](const Json& settings, runtime::GenerateOptions* generate) {
        return TakeSavedSettings(settings, *options_.command, talk_.model(), generate);
      });
  if (!foreign.has_value()) return tl::unexpected(Within(path, foreign.error()));
  file_ = path;
  if (*foreign > 0) {
    PrintRemark(
        "notice: {} of {} replies have the tokens of another vocabulary; they are read anew\n",
        *foreign, talk_.chat().turns().size());
  }
  return {};
}

void Dialogue::Say(std::string_view text) const {
  const bool colour = UsesColour(stderr);
  PrintRemark("{}{}{}\n", colour ? "\x1b[2m" : "", text, colour ? "\x1b[0m" : "");
}

/// The first lines at a terminal: the model's name, and how to begin or where the talk stands.
void Dialogue::Banner() const {
  const bool built_in = talk_.model().model.checkpoint().path().starts_with("built-in");
  PrintError("{}{} - /help lists the commands.\n", Printable(talk_.NameOfModel()),
             built_in ? ", the small built-in model" : "");
  if (!talk_.chat().turns().empty()) {
    PrintError("{} turns resumed; the last one was: {}\n", talk_.chat().turns().size(),
               Printable(talk_.chat().turns().back().user, 60));
    return;
  }
  const hub::KnownModel& real = hub::KnownModels().front();
  PrintError("{}\n", built_in
                         ? fmt::format("Try: What is a tern?   For a real conversation: bittern "
                                       "chat -hf {} ({:.1f} GB, once)",
                                       real.name, static_cast<double>(real.bytes) / 1e9)
                         : "Type a message and press Enter. Ctrl-D leaves.");
}

void Dialogue::OpenHistory() {
  const std::filesystem::path path = HistoryOfUser();
  if (path.empty()) return;
  auto history = console::HistoryFile::Open(path);
  if (!history) {
    PrintRemark("notice: typed lines are not kept: {}\n", history.error().message);
    return;
  }
  terminal_->SetHistory(history->lines());
  history_ = *std::move(history);
}

void Dialogue::Remember(const std::string& line) {
  if (!history_) return;
  const auto kept = history_->Add(line);
  if (kept) return;
  PrintRemark("notice: typed lines are not kept: {}\n", kept.error().message);
  history_.reset();
}

/// Ctrl-C drops the edit of a turn, or clears a half-typed line; on an empty line it asks once, and
/// the second one leaves.
Result<bool> Dialogue::EditLine(std::string* line) {
  for (bool asked = false;;) {
    const std::string text = to_edit_.value_or("");
    const auto outcome = BITTERN_TRY(terminal_->Read(to_edit_ ? "edit> " : "> ", line, text));
    if (outcome == LineTerminal::Outcome::kLine) {
      Remember(*line);
      return true;
    }
    if (outcome == LineTerminal::Outcome::kEnd) return false;
    if (to_edit_.has_value()) {  // the turn stays as it was
      to_edit_.reset();
      continue;
    }
    if (!line->empty()) {  // a half-typed line was cleared
      asked = false;
      continue;
    }
    if (asked) return false;
    PrintError("Press Ctrl-C again to leave.\n");
    asked = true;
  }
}

/// A line from the editor, or from a pipe without its end: CR and spaces there are dropped.
Result<bool> Dialogue::ReadLine(std::string* line) {
  if (terminal_) {
    if (!BITTERN_TRY(EditLine(line))) return false;
  } else {
    if (at_terminal_) PrintError("> ");
    if (!BITTERN_TRY(ReadLineOfInput(line))) {
      if (at_terminal_) PrintError("\n");
      return false;
    }
  }
  while (!line->empty() && (line->back() == '\r' || line->back() == ' ')) line->pop_back();
  return true;
}

/// Says why a turn failed. At a terminal a cancelled turn is no failure; a full context tells the
/// way out.
int Dialogue::ReportFailure(const Error& error) {
  if (error.code == ErrorCode::kCancelled) {
    PrintRemark("\nnotice: stopped while reading\n");
    return at_terminal_ ? 0 : kExitInterrupted;
  }
  if (error.code != ErrorCode::kContextFull) return Report(error);
  const int context = talk_.chat().session().context_length();
  if (talk_.chat().session().tokens().empty()) {
    return Report({error.code, fmt::format("this message is too long: {} (-c sets the context)",
                                           error.message)});
  }
  PrintError(
      "The conversation has filled the model's context ({} tokens): {}. Type /clear to start a new "
      "one.\n",
      context, error.message);
  return kExitRuntime;
}

void Dialogue::Remark(const runtime::GenerateResult& reply) {
  if (reply.finish == runtime::FinishReason::kLength) {
    PrintRemark("notice: the reply was cut after {} tokens; {} allows more\n", reply.ids.size(),
                terminal_ ? "/set n_predict N" : "-n N");
    if (!reply.cut && runtime::LoopDetector::EndsInLoop(reply.ids)) {
      PrintRemark("notice: the reply repeats itself; {}\n", kOutOfLoop);
    }
  }
  if (reply.cut)
    PrintRemark("notice: what was asked for is not whole: only its beginning is here\n");
  if (reply.finish == runtime::FinishReason::kContextFull) {
    PrintRemark(
        "notice: the reply was cut because the context is full; /clear starts a new "
        "conversation\n");
  }
  if (reply.finish == runtime::FinishReason::kLoop) {
    PrintRemark("notice: the reply was stopped because it repeats itself\n");
  }
  if (talk_.chat().dropped_turns() > 0 && !std::exchange(told_of_drop_, true)) {
    PrintRemark("notice: the context of {} tokens is full; the oldest turns are being forgotten\n",
                talk_.chat().session().context_length());
  }
  if (!terminal_) return;
  const runtime::TurnCost& cost = talk_.chat().last_cost();
  constexpr int kLeastTold = 20;  // fewer say nothing about speed
  if (cost.written_s <= 0 || cost.written_tokens < (options_.model.verbose ? 2 : kLeastTold))
    return;
  Say(fmt::format("{:.1f} tokens/s", cost.written_tokens / cost.written_s));
}

/// Ctrl-C is caught while the reply runs, and given back before anything else is done. With --save
/// the file is written after each reply, so that a crash loses one turn at most.
int Dialogue::Answer(const std::string& line, bool replaces) {
  const std::atomic<bool>& interrupt = CatchInterrupt();
  const bool on_screen = terminal_.has_value() && IsTerminal(stdout) && !options_.json;
  std::optional<console::ReplyScreen> screen;
  if (on_screen) {
    screen.emplace(!options_.no_markdown && UsesColour(stdout), !options_.show_thoughts,
                   talk_.chat().BeginsThinking(line));
  }
  ReplyWriter writer(&out_, std::move(screen), !options_.show_thoughts, options_.json);
  const request::ReplyListener listener{
      .on_text = [&](std::string_view text) { return writer.Write(text); },
      .on_prompt =
          [&](double read) {
            writer.progress().ShowIfSlow(fmt::format("reading: {:.0f} %", 100 * read));
          },
      .cancel = &interrupt};
  const auto reply = replaces ? talk_.Replace(line, listener) : talk_.Say(line, listener);
  const bool interrupted = interrupt.load();
  ReleaseInterrupt();
  if (!reply.has_value()) {
    writer.progress().Clear();
    return ReportFailure(reply.error());
  }
  writer.Finish();
  thoughts_ = writer.thoughts();
  std::string end = "\n";
  if (options_.json) {
    end = report::ReplyJson(line, *reply, talk_.options().logprobs >= 0, talk_.chat().session())
              .Dump() +
          end;
  }
  out_.Write(end);
  totals_.Add(talk_.chat().last_cost());
  Remark(*reply);
  if (!options_.save.empty()) {
    const auto saved = runtime::WriteSavedChatFile(options_.save, talk_.Saved());
    if (!saved.has_value()) return Report(saved.error(), kExitRuntime);
  }
  if (const Result<void> written = out_.Status(); !written.has_value()) {
    return Report(written.error(), kExitRuntime);
  }
  return interrupted && !at_terminal_ ? kExitInterrupted : 0;
}

/// A failed turn ends a pipe with its exit code. At a terminal the talk goes on, unless the model
/// itself is broken.
int Dialogue::Run() {
  if (at_terminal_ && IsTerminal(stderr)) {
    Banner();
    if (LineTerminal::Begin()) {  // else the terminal edits its lines itself
      terminal_.emplace();
      OpenHistory();
    }
  }
  std::string line;
  for (;;) {
    const Result<bool> read = ReadLine(&line);
    if (!read.has_value()) return Report(read.error());
    if (!*read) return 0;
    const bool replaces = std::exchange(to_edit_, std::nullopt).has_value();
    if (terminal_ && IsWordToLeave(line)) Say("(/exit or Ctrl-D leaves)");
    const Handled handled = replaces ? Handled::kTurn : RunCommand(line);
    if (handled == Handled::kLeave) return 0;
    if (handled == Handled::kDone || line.empty()) {
      if (out_.Closed()) return 0;
      continue;
    }
    const int exit_code = Answer(line, replaces);
    if (exit_code != 0 && (!at_terminal_ || exit_code == kExitModel)) return exit_code;
    if (out_.Closed()) return 0;
  }
}

}  // namespace bittern::cli
