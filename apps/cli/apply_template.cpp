// SPDX-License-Identifier: Apache-2.0
// `bittern apply-template`: a conversation as the text and the tokens that a model reads. Opens the
// file without its weights.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "base/json/json.hpp"
#include "cli/chat/template_option.hpp"
#include "cli/options/default_model.hpp"
#include "cli/options/tokenizer_options.hpp"
#include "cli/shared/commands.hpp"
#include "cli/shared/output.hpp"
#include "formats/checkpoint.hpp"
#include "runtime/chat/chat_prompt.hpp"

namespace bittern::cli {
namespace {

struct ApplyOptions {
  ModelOptions model;
  std::string chat_template;
  bool json = false, jinja = false;
};

/// The request that standard input is: JSON, or a text that a user says.
Result<Json> ReadRequest(bool json) {
  const std::string input = BITTERN_TRY(ReadStandardInput());
  const Json message = {{"role", "user"}, {"content", input}};
  const std::string text = json ? input : Json::MakeArray({message}).Dump();
  auto request = Json::Parse(text, {.max_depth = 100});
  if (request.has_value()) return request;
  return Fail(ErrorCode::kInvalidArgument, "standard input: " + request.error().message);
}

Result<std::string> Apply(const ApplyOptions& options) {
  const std::string chosen = BITTERN_TRY(ReadChatTemplate(options.chat_template));
  const auto tokenizer = BITTERN_TRY(OpenTokenizer(options.model));
  auto checkpoint = BITTERN_TRY(OpenModelFile(options.model.path));
  for (const std::string& text : options.model.overrides) {
    BITTERN_TRY(checkpoint.metadata().Override(text));
  }
  Decisions decisions;
  const auto chat = BITTERN_TRY(
      runtime::ChatPrompt::Create(checkpoint.metadata(), tokenizer, chosen, &decisions));
  PrintDecisions(decisions, options.model.verbose);
  const auto request = BITTERN_TRY(ReadRequest(options.json));
  const auto prompt = BITTERN_TRY(chat.Apply(request, tokenizer));
  if (!options.json) return prompt.text.bytes();
  const Json answer = {{"prompt", prompt.text.bytes()}, {"ids", prompt.ids}};
  return answer.Dump() + '\n';
}

int ApplyCommand(const ApplyOptions& options) {
  const Result<std::string> answer = Apply(options);
  if (!answer.has_value()) return Report(answer.error(), ExitCodeOf(answer.error()));
  StandardOutput out;
  out.Write(*answer);
  const Result<void> written = out.Status();
  return written.has_value() ? 0 : Report(written.error(), kExitRuntime);
}

}  // namespace

void AddApplyTemplate(CLI::App& app, int* exit_code) {
  CLI::App* command =
      app.add_subcommand("apply-template", "Show a conversation as a model reads it");
  command->footer(
      "Example:\n  echo '[{\"role\":\"user\",\"content\":\"Hi\"}]' | bittern apply-template "
      "--json\n  echo Hi | bittern apply-template --chat-template bitnet");
  const auto options = std::make_shared<ApplyOptions>();
  AddModelOptions(*command, &options->model, /*takes_argument=*/false);
  AddChatTemplateOption(*command, &options->chat_template);
  command->add_flag("--jinja", options->jinja, "Accepted: templates are always run as Jinja");
  command->add_flag("--json", options->json,
                    "Standard input is JSON: a list of messages, or an object with \"messages\", "
                    "\"tools\" and so on; print {\"prompt\":...,\"ids\":[...]}. Without it, "
                    "standard input is what a user says, and the prompt is printed");
  command->callback([options, exit_code] { *exit_code = ApplyCommand(*options); });
}

}  // namespace bittern::cli
