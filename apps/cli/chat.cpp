// SPDX-License-Identifier: Apache-2.0
// `bittern chat`: reads lines, prints replies. With a pipe instead of a terminal each line is a
// turn, and nothing but the replies goes to standard output.
#include "runtime/chat.hpp"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/interrupt.hpp"
#include "cli/model_options.hpp"
#include "cli/output.hpp"
#include "cli/sampling_options.hpp"
#include "cli/terminal.hpp"
#include "cli/timings.hpp"

namespace bittern::cli {
namespace {

constexpr const char* kCommands = "/clear (or /reset), /exit (or /quit, /bye), /help";
constexpr const char* kExample = R"(Example:
  bittern chat
  echo "What is a tern?" | bittern chat --temp 0

Commands while chatting: /clear or /reset forgets what was said, /exit, /quit or /bye (or Ctrl-D)
leaves, /help lists them. Ctrl-C stops a reply; a second one leaves.)";

struct ChatOptions {
  const CLI::App* command = nullptr;  // which knows what was given
  ModelOptions model;
  ContextOptions context;
  runtime::GenerateOptions generate = {.max_tokens = 256};
  std::string system, chat_template;
  int num_threads = 0;
  bool json = false;
};

Result<runtime::Chat> OpenChat(const ChatOptions& options) {
  // Wrong values are told before a large model is loaded.
  BITTERN_TRY(runtime::Sampler::Create(options.generate.sampler));
  std::optional<runtime::ChatTemplate> named;
  if (!options.chat_template.empty()) {
    named = BITTERN_TRY(runtime::ChatTemplateByName(options.chat_template));
  }
  const auto model = BITTERN_TRY(LoadModel(options.model, options.num_threads));
  const auto& metadata = model->model.checkpoint().metadata();
  Decisions decisions;
  if (named) {
    BITTERN_TRY(runtime::CheckChatTokens(*named, model->tokenizer));
  } else {
    auto resolved = runtime::ResolveChatTemplate(metadata, model->tokenizer, &decisions);
    if (!resolved) {
      return tl::unexpected(
          Within("no chat with this model (--chat-template)", std::move(resolved).error()));
    }
    named = *resolved;
  }
  PrintDecisions(decisions, options.model.verbose);
  const auto session_options =
      BITTERN_TRY(ToSessionOptions(options.context, options.num_threads, *model));
  auto session = BITTERN_TRY(runtime::Session::Create(model, session_options));
  return runtime::Chat(std::move(session), *named, options.system);
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
  const nlohmann::ordered_json json = {{"user", user},
                                       {"text", reply.text},
                                       {"ids", reply.ids},
                                       {"finish_reason", runtime::FinishReasonName(reply.finish)},
                                       {"seed", reply.seed},
                                       {"n_past", session.tokens().size()},
                                       {"draft_n", reply.drafted},
                                       {"draft_n_accepted", reply.accepted}};
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

/// One conversation at the terminal or in a pipe.
class Dialogue {
 public:
  Dialogue(const ChatOptions& options, runtime::Chat chat)
      : options_(options), chat_(std::move(chat)), shows_prompt_(IsTerminal(stdin)) {
    TakeSamplingDefaults(*options.command, chat_.session().model().model.checkpoint().metadata(),
                         options.model.verbose, &generate_.sampler);
    for (std::string& stop : generate_.stops) stop = Unescape(stop);
  }

  /// Until the input ends, /exit, or (with piped input) a turn that fails. Returns the exit code.
  int Run();

 private:
  /// False at the end of the input. Error kIo.
  Result<bool> ReadLine(std::string* line);
  /// Prints the reply; 0, or the exit code of the failure, which has been reported.
  int Answer(const std::string& line);

  const ChatOptions& options_;
  runtime::GenerateOptions generate_ = options_.generate;
  runtime::Chat chat_;
  StandardOutput out_;
  bool shows_prompt_;
};

Result<bool> Dialogue::ReadLine(std::string* line) {
  if (shows_prompt_) PrintError("> ");
  if (!BITTERN_TRY(ReadLineOfInput(line))) {
    if (shows_prompt_) PrintError("\n");
    return false;
  }
  while (!line->empty() && (line->back() == '\r' || line->back() == ' ')) line->pop_back();
  return true;
}

int Dialogue::Answer(const std::string& line) {
  runtime::GenerateOptions generate = generate_;
  const std::atomic<bool>& interrupt = CatchInterrupt();
  generate.cancel = &interrupt;
  ProgressLine progress;
  generate.on_prompt = [&](double read) {
    progress.ShowIfSlow(fmt::format("reading: {:.0f} %", 100 * read));
  };
  const auto reply = chat_.Say(line, generate, [&](std::string_view text) {
    progress.Clear();
    return options_.json || out_.Write(text);
  });
  progress.Clear();
  const bool interrupted = interrupt.load();
  ReleaseInterrupt();
  if (!reply.has_value()) {
    if (reply.error().code == ErrorCode::kCancelled) {
      PrintError("\nnotice: stopped while reading\n");
      return shows_prompt_ ? 0 : kExitInterrupted;
    }
    const int exit_code = Report(reply.error());
    if (reply.error().code == ErrorCode::kContextFull) {
      PrintError("The conversation is too long for the context: /clear starts a new one.\n");
    }
    return exit_code;
  }
  out_.Write(options_.json ? ToJson(line, *reply, chat_.session()) : "\n");
  if (reply->finish == runtime::FinishReason::kContextFull) {
    PrintError("notice: the context is full; /clear starts a new conversation\n");
  }
  if (const Result<void> written = out_.Status(); !written.has_value()) {
    return Report(written.error(), kExitRuntime);
  }
  return interrupted && !shows_prompt_ ? kExitInterrupted : 0;
}

int Dialogue::Run() {
  std::string line;
  for (;;) {
    const Result<bool> read = ReadLine(&line);
    if (!read.has_value()) return Report(read.error());
    if (!*read) return 0;
    switch (ParseCommand(line)) {
      case Command::kExit:
        return 0;
      case Command::kClear:
        chat_.Clear();
        PrintError("notice: a new conversation\n");
        continue;
      case Command::kHelp:
        PrintError("Commands: {}\n", kCommands);
        continue;
      case Command::kUnknown:
        // A slip of a person's fingers; a program that sends a line waits for its reply.
        if (!shows_prompt_) break;
        PrintError("notice: {} is no command; there are {}\n", line, kCommands);
        continue;
      case Command::kNone:
        break;
    }
    if (line.empty()) continue;
    const int exit_code = Answer(line);
    if (exit_code != 0 && (!shows_prompt_ || exit_code == kExitModel)) return exit_code;
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
  AddModelOptions(*command, &options->model);
  command
      ->add_option("--system-prompt", options->system,
                   "-sys: what the model is told before the first turn")
      ->type_name("TEXT");
  command
      ->add_option("--chat-template", options->chat_template,
                   "Form of the turns: bitnet, llama3 or chatml (default: what the file says)")
      ->type_name("NAME");
  AddThreadsOption(*command, &options->num_threads);
  AddContextOptions(*command, &options->context);
  AddSamplingOptions(*command, &options->generate);
  command->add_flag("--json", options->json, "Print one JSON object per reply instead of text");
  command->footer(kExample);
  command->callback([options, exit_code] { *exit_code = ChatCommand(*options); });
}

}  // namespace bittern::cli
