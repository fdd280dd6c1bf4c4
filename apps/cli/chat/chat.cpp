// SPDX-License-Identifier: Apache-2.0
// `bittern chat`: its flags, and opening the model; dialogue.cpp does the talking.
#include "runtime/chat/chat.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <utility>

#include "cli/chat/chat_options.hpp"
#include "cli/chat/dialogue.hpp"
#include "cli/chat/template_option.hpp"
#include "cli/options/model_options.hpp"
#include "cli/options/outputs.hpp"
#include "cli/options/sampler_options.hpp"
#include "cli/options/sampling_options.hpp"
#include "cli/shared/commands.hpp"
#include "runtime/chat/chosen_template.hpp"
#include "runtime/sampling/sampler.hpp"

namespace bittern::cli {
namespace {

constexpr const char* kExample = R"(Example:
  bittern chat
  echo "What is a tern?" | bittern chat --temp 0

Commands at a terminal: /undo, /retry, /edit, /system, /save, /load, /set, /stats, /tokens, /json,
/thoughts, /clear (or /reset), /exit (or /quit, /bye, Ctrl-D); /help tells what they do. Ctrl-C stops
a reply; a second one leaves. In a pipe each line is a turn but /clear, /exit, /help and their other
names, and only the replies go to standard output.)";

/// Checks the flags, loads the model and makes the chat. The template comes from --chat-template,
/// from --in-prefix and --in-suffix, else from the model's file.
Result<runtime::Chat> OpenChat(const ChatOptions& options) {
  // Wrong values are told before a large model is loaded.
  BITTERN_TRY(runtime::Sampler::Create(options.generate.sampler));
  BITTERN_TRY(CheckContextOptions(options.context));
  if (options.generate.logprobs >= 0 && !options.json) {
    return Fail(ErrorCode::kInvalidArgument, "--logprobs: it is written with --json only");
  }
  std::string chosen = BITTERN_TRY(ReadChatTemplate(options.chat_template));
  if (!options.in_prefix.empty() || !options.in_suffix.empty()) {
    if (!chosen.empty()) {
      return Fail(ErrorCode::kInvalidArgument,
                  "--in-prefix, --in-suffix: they stand instead of a chat template; leave "
                  "--chat-template out");
    }
    chosen = runtime::TemplateOfAffixes(Unescape(options.in_prefix), Unescape(options.in_suffix));
  }
  runtime::ChatOptions chat_options{.system = options.system,
                                    .policy = options.context_policy == "stop"
                                                  ? runtime::ContextPolicy::kStop
                                                  : runtime::ContextPolicy::kDrop};
  if (!options.template_names.empty()) {
    chat_options.template_names =
        BITTERN_TRY(runtime::ParseTemplateNames(options.template_names, "--chat-template-kwargs"));
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
  auto session_options =
      BITTERN_TRY(ToSessionOptions(options.context, options.num_threads, *model));
  session_options.kept_states = runtime::SessionOptions().kept_states;
  auto session = BITTERN_TRY(runtime::Session::Create(model, session_options));
  NoticeUnreadOverrides(options.model.overrides, metadata);
  return runtime::Chat::Create(std::move(session), *std::move(prompt), std::move(chat_options));
}

/// Opens the chat, takes the saved conversation of --resume, and talks until the input ends.
int ChatCommand(const ChatOptions& options) {
  auto chat = OpenChat(options);
  if (!chat.has_value()) return Report(chat.error());
  Dialogue dialogue(options, *std::move(chat));
  if (!options.resume.empty()) {
    const auto resumed = dialogue.Resume(options.resume);
    if (!resumed.has_value()) return Report(resumed.error());
  }
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
  command
      ->add_option("--in-prefix", options->in_prefix,
                   "Write this before what is said, and no chat template; special tokens count")
      ->type_name("TEXT");
  command->add_option("--in-suffix", options->in_suffix, "The same, after what is said")
      ->type_name("TEXT");
  command
      ->add_option("--resume", options->resume,
                   "Go on with a conversation that /save or --save has written")
      ->type_name("FILE")
      ->check(PlainFile());
  command
      ->add_option("--save", options->save, "Write the conversation to this file after each reply")
      ->type_name("FILE")
      ->check(PlainFile());
  command->add_flag("--no-markdown", options->no_markdown,
                    "Show replies without bold and colours, which only a terminal gets");
  command->add_flag("--show-thoughts", options->show_thoughts,
                    "Show what stands between <think> and </think>, which a terminal folds");
  command->add_flag("--json", options->json, "Print one JSON object per reply instead of text");
  AddLogprobsOption(*command, &options->generate);
  command->footer(kExample);
  AddForceOption(*command);
  command->callback([options, exit_code] { *exit_code = ChatCommand(*options); });
}

}  // namespace bittern::cli
