// SPDX-License-Identifier: Apache-2.0
// `bittern chat`: reads lines, prints replies. With a pipe instead of a terminal each line is a
// turn, and nothing but the replies goes to standard output.
#include "runtime/chat/chat.hpp"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "cli/chat/line_edit.hpp"
#include "cli/chat/line_terminal.hpp"
#include "cli/chat/template_option.hpp"
#include "cli/commands.hpp"
#include "cli/interrupt.hpp"
#include "cli/options/logprobs_json.hpp"
#include "cli/options/model_options.hpp"
#include "cli/options/sampler_options.hpp"
#include "cli/options/sampling_options.hpp"
#include "cli/output.hpp"
#include "cli/terminal.hpp"
#include "cli/timings.hpp"
#include "formats/display.hpp"

namespace bittern::cli {
namespace {

constexpr const char* kCommands = "/clear (or /reset), /exit (or /quit, /bye), /help";
constexpr const char* kChatHelp =
    R"(/clear, /reset      forget what was said; the system prompt stays
/exit, /quit, /bye  leave (also Ctrl-D)
/help               show this
Up and Down bring back earlier lines, Alt-Enter begins a new line, a pasted text is one turn.
Ctrl-C stops a reply, clears a half-typed line, and leaves when pressed twice.
)";
constexpr const char* kExample = R"(Example:
  bittern chat
  echo "What is a tern?" | bittern chat --temp 0

Commands while chatting: /clear or /reset forgets what was said, /exit, /quit or /bye (or Ctrl-D)
leaves, /help lists them. Ctrl-C stops a reply; a second one leaves.
In a pipe each line is a turn, and only the replies go to standard output.)";

struct ChatOptions {
  const CLI::App* command = nullptr;  // which knows what was given
  ModelOptions model;
  ContextOptions context;
  runtime::GenerateOptions generate = {.max_tokens = 256};
  std::string system, chat_template, template_names, context_policy = "drop";
  int num_threads = 0;
  bool json = false;
};

Result<formats::Json> ReadTemplateNames(const std::string& text) {
  auto names = formats::Json::Parse(text, {.max_depth = 100});
  if (names.has_value() && names->AsObject() != nullptr) return names;
  return Fail(
      ErrorCode::kInvalidArgument,
      fmt::format("--chat-template-kwargs: a JSON object expected, {}",
                  names ? std::string(names->TypeName()) + " found" : names.error().message));
}

Result<runtime::Chat> OpenChat(const ChatOptions& options) {
  // Wrong values are told before a large model is loaded.
  BITTERN_TRY(runtime::Sampler::Create(options.generate.sampler));
  BITTERN_TRY(CheckContextOptions(options.context));
  if (options.generate.logprobs >= 0 && !options.json) {
    return Fail(ErrorCode::kInvalidArgument, "--logprobs: it is written with --json only");
  }
  const std::string chosen = BITTERN_TRY(ReadChatTemplate(options.chat_template));
  runtime::ChatOptions chat_options{.system = options.system,
                                    .policy = options.context_policy == "stop"
                                                  ? runtime::ContextPolicy::kStop
                                                  : runtime::ContextPolicy::kDrop};
  if (!options.template_names.empty()) {
    chat_options.template_names = BITTERN_TRY(ReadTemplateNames(options.template_names));
  }
  const auto model = BITTERN_TRY(LoadModel(options.model, options.num_threads));
  const auto& metadata = model->model.checkpoint().metadata();
  Decisions decisions;
  auto prompt = runtime::ChatPrompt::Create(metadata, model->tokenizer, chosen, &decisions);
  if (!prompt) {
    return tl::unexpected(
        Within("no chat with this model (--chat-template)", std::move(prompt).error()));
  }
  PrintDecisions(decisions, options.model.verbose);
  const auto session_options =
      BITTERN_TRY(ToSessionOptions(options.context, options.num_threads, *model));
  auto session = BITTERN_TRY(runtime::Session::Create(model, session_options));
  NoticeUnreadOverrides(options.model.overrides, metadata);
  return runtime::Chat::Create(std::move(session), *std::move(prompt), std::move(chat_options));
}

/// What one line that begins with '/' asks for.
enum class Command { kNone, kClear, kExit, kHelp, kUnknown };

Command ParseCommand(std::string_view line) {
  if (!line.starts_with('/')) return Command::kNone;
  if (line == "/clear" || line == "/reset") return Command::kClear;
  if (line == "/exit" || line == "/quit" || line == "/bye") return Command::kExit;
  return line == "/help" || line == "/?" ? Command::kHelp : Command::kUnknown;
}

std::string ToJson(std::string_view user, const runtime::GenerateResult& reply,
                   const runtime::Session& session) {
  nlohmann::ordered_json json = {{"user", user},
                                 {"text", reply.text},
                                 {"ids", reply.ids},
                                 {"finish_reason", runtime::FinishReasonName(reply.finish)},
                                 {"seed", reply.seed},
                                 {"n_past", session.tokens().size()},
                                 {"draft_n", reply.drafted},
                                 {"draft_n_accepted", reply.accepted}};
  if (!reply.logprobs.empty()) {
    json["logprobs"] = LogprobsJson(reply.logprobs, session.model().tokenizer);
  }
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

/// One conversation at the terminal or in a pipe.
class Dialogue {
 public:
  Dialogue(const ChatOptions& options, runtime::Chat chat)
      : options_(options), chat_(std::move(chat)), at_terminal_(IsTerminal(stdin)) {
    TakeSamplingDefaults(*options.command, chat_.session().model().model.checkpoint().metadata(),
                         options.model.verbose, &generate_.sampler);
    for (std::string& stop : generate_.stops) stop = Unescape(stop);
  }

  /// Until the input ends, /exit, or (with piped input) a turn that fails. Returns the exit code.
  int Run();

 private:
  /// False at the end of the input. Error kIo.
  Result<bool> ReadLine(std::string* line);
  /// The same at a terminal that lines can be edited on.
  Result<bool> EditLine(std::string* line);
  /// Runs a command; false if the line is a turn instead, *leaves if it says so.
  bool RunCommand(const std::string& line, bool* leaves);
  /// Prints the reply; 0, or the exit code of the failure, which has been reported.
  int Answer(const std::string& line);
  int ReportFailure(const Error& error);
  /// What a user should know about a reply that has been shown.
  void Remark(const runtime::GenerateResult& reply, const runtime::Timings& before);
  void Banner() const;

  const ChatOptions& options_;
  runtime::GenerateOptions generate_ = options_.generate;
  runtime::Chat chat_;
  StandardOutput out_;
  bool at_terminal_;
  std::optional<LineTerminal> terminal_ = {};
  bool told_of_drop_ = false;
};

void Dialogue::Banner() const {
  const auto& checkpoint = chat_.session().model().model.checkpoint();
  const auto name = checkpoint.metadata().GetString("general.name");
  const std::string_view shown =
      name.has_value() ? name->value_or(checkpoint.path()) : std::string_view(checkpoint.path());
  const bool built_in = checkpoint.path().starts_with("built-in");
  PrintError("{}{} - /help lists the commands.\n", formats::Printable(shown),
             built_in ? ", the small built-in model" : "");
  PrintError("{}\n", built_in
                         ? "Try: What is a tern?   For a real conversation: bittern chat -m FILE"
                         : "Type a message and press Enter. Ctrl-D leaves.");
}

Result<bool> Dialogue::EditLine(std::string* line) {
  for (bool asked = false;;) {
    const auto outcome = BITTERN_TRY(terminal_->Read("> ", line));
    if (outcome == LineTerminal::Outcome::kLine) return true;
    if (outcome == LineTerminal::Outcome::kEnd) return false;
    if (!line->empty()) {  // a half-typed line was cleared
      asked = false;
      continue;
    }
    if (asked) return false;
    PrintError("Press Ctrl-C again to leave.\n");
    asked = true;
  }
}

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

int Dialogue::ReportFailure(const Error& error) {
  if (error.code == ErrorCode::kCancelled) {
    PrintError("\nnotice: stopped while reading\n");
    return at_terminal_ ? 0 : kExitInterrupted;
  }
  if (error.code != ErrorCode::kContextFull) return Report(error);
  const int context = chat_.session().context_length();
  if (chat_.session().tokens().empty()) {
    return Report({error.code, fmt::format("this message is too long: {} (-c sets the context)",
                                           error.message)});
  }
  PrintError(
      "The conversation has filled the model's context ({} tokens): {}. Type /clear to start a new "
      "one.\n",
      context, error.message);
  return kExitRuntime;
}

void Dialogue::Remark(const runtime::GenerateResult& reply, const runtime::Timings& before) {
  if (reply.finish == runtime::FinishReason::kLength) {
    PrintError("notice: the reply was cut after {} tokens; -n N allows more\n", reply.ids.size());
  }
  if (reply.finish == runtime::FinishReason::kContextFull) {
    PrintError(
        "notice: the reply was cut because the context is full; /clear starts a new "
        "conversation\n");
  }
  if (reply.finish == runtime::FinishReason::kLoop) {
    PrintError("notice: the reply was stopped because it repeats itself\n");
  }
  if (chat_.dropped_turns() > 0 && !std::exchange(told_of_drop_, true)) {
    PrintError("notice: the context of {} tokens is full; the oldest turns are being forgotten\n",
               chat_.session().context_length());
  }
  if (!terminal_) return;
  const runtime::Timings& now = chat_.session().timings();
  const double seconds = now.predicted_s - before.predicted_s;
  const int tokens = now.predicted_tokens - before.predicted_tokens;
  if (seconds <= 0 || tokens <= 1) return;
  const bool colour = UsesColour(stderr);
  PrintError("{}{:.1f} tokens/s{}\n", colour ? "\x1b[2m" : "", tokens / seconds,
             colour ? "\x1b[0m" : "");
}

int Dialogue::Answer(const std::string& line) {
  runtime::GenerateOptions generate = generate_;
  const std::atomic<bool>& interrupt = CatchInterrupt();
  generate.cancel = &interrupt;
  ProgressLine progress;
  generate.on_prompt = [&](double read) {
    progress.ShowIfSlow(fmt::format("reading: {:.0f} %", 100 * read));
  };
  const runtime::Timings before = chat_.session().timings();
  const bool wraps = terminal_.has_value() && IsTerminal(stdout) && !options_.json;
  WordWrap wrap;
  const auto reply = chat_.Say(line, generate, [&](std::string_view text) {
    progress.Clear();
    if (wraps) return out_.Write(wrap.Add(text, TerminalColumns()));
    return options_.json || out_.Write(text);
  });
  progress.Clear();
  const bool interrupted = interrupt.load();
  ReleaseInterrupt();
  if (!reply.has_value()) return ReportFailure(reply.error());
  if (wraps) out_.Write(wrap.Finish(TerminalColumns()));
  out_.Write(options_.json ? ToJson(line, *reply, chat_.session()) : "\n");
  Remark(*reply, before);
  if (const Result<void> written = out_.Status(); !written.has_value()) {
    return Report(written.error(), kExitRuntime);
  }
  return interrupted && !at_terminal_ ? kExitInterrupted : 0;
}

bool Dialogue::RunCommand(const std::string& line, bool* leaves) {
  switch (ParseCommand(line)) {
    case Command::kExit:
      *leaves = true;
      return true;
    case Command::kClear:
      chat_.Clear();
      told_of_drop_ = false;
      PrintError("notice: a new conversation\n");
      return true;
    case Command::kHelp:
      PrintError("{}", kChatHelp);
      return true;
    case Command::kUnknown:
      // A slip of a person's fingers; a program that sends a line waits for its reply.
      if (!at_terminal_) return false;
      PrintError("Unknown command {}. Commands: {}\n", formats::Printable(line), kCommands);
      return true;
    case Command::kNone:
      return false;
  }
  return false;
}

int Dialogue::Run() {
  if (at_terminal_ && IsTerminal(stderr)) {
    Banner();
    if (const auto begun = LineTerminal::Begin(); !begun) return Report(begun.error());
    terminal_.emplace();
  }
  std::string line;
  for (;;) {
    const Result<bool> read = ReadLine(&line);
    if (!read.has_value()) return Report(read.error());
    bool leaves = !*read;
    const bool done = leaves || RunCommand(line, &leaves);
    if (leaves) return 0;
    if (done || line.empty()) continue;
    const int exit_code = Answer(line);
    if (exit_code != 0 && (!at_terminal_ || exit_code == kExitModel)) return exit_code;
    if (out_.Closed()) return 0;
  }
}

int ChatCommand(const ChatOptions& options) {
  auto chat = OpenChat(options);
  if (!chat.has_value()) return Report(chat.error());
  Dialogue dialogue(options, *std::move(chat));
  return dialogue.Run();
}

}  // namespace

void AddChat(CLI::App& app, int* exit_code) {
  CLI::App* command = app.add_subcommand("chat", "Talk with a model, line by line");
  const auto options = std::make_shared<ChatOptions>();
  options->command = command;
  AddModelOptions(*command, &options->model, /*takes_argument=*/true);
  AddComputeOptions(*command, &options->model);
  command
      ->add_option("--system-prompt", options->system,
                   "What the model is told before the first turn")
      ->type_name("TEXT");
  AddChatTemplateOption(*command, &options->chat_template);
  command
      ->add_option("--chat-template-kwargs", options->template_names,
                   "Further names for the template, as a JSON object: {\"enable_thinking\": false}")
      ->type_name("JSON");
  AddThreadsOption(*command, &options->num_threads);
  AddContextOptions(*command, &options->context);
  AddSamplingOptions(*command, &options->generate);
  command
      ->add_option("--context-policy", options->context_policy,
                   "When the context is full: drop forgets the oldest turns, stop refuses the turn")
      ->type_name("NAME")
      ->transform(OneOf({"drop", "stop"}))
      ->capture_default_str();
  command->add_flag("--json", options->json, "Print one JSON object per reply instead of text");
  AddLogprobsOption(*command, &options->generate);
  command->footer(kExample);
  command->callback([options, exit_code] { *exit_code = ChatCommand(*options); });
}

}  // namespace bittern::cli
