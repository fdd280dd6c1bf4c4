// SPDX-License-Identifier: Apache-2.0
// Reads the prompt: text from a flag, a file or a pipe, or plain token ids.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/options/model_options.hpp"
#include "cli/options/tokenizer_options.hpp"
#include "cli/shared/terminal.hpp"

namespace bittern::cli {
namespace {

/// Editors and echo end a text with a newline that is not part of the prompt.
std::string WithoutLastNewline(std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

/// -p, else -f, else a pipe. Only -p has escapes: a file or a pipe can hold the character itself.
Result<std::string> ReadPromptText(const PromptOptions& options) {
  if (options.text_flag->count() > 0) {
    return options.no_escape ? options.text : Unescape(options.text);
  }
  if (!options.file.empty()) return WithoutLastNewline(BITTERN_TRY(ReadFileText(options.file)));
  if (!IsTerminal(stdin)) return WithoutLastNewline(BITTERN_TRY(ReadStandardInput()));
  return Fail(ErrorCode::kInvalidArgument,
              "no prompt: give -p TEXT, -f FILE or --prompt-ids, or pipe a text in");
}

}  // namespace

void AddPromptOptions(CLI::App& command, PromptOptions* options) {
  options->text_flag =
      command.add_option("-p,--prompt", options->text, "Text to continue")->type_name("TEXT");
  CLI::Option* file =
      command.add_option("-f,--file", options->file, "File with the text to continue")
          ->type_name("FILE")
          ->excludes(options->text_flag);
  command
      .add_option("--prompt-ids", options->ids,
                  "Token ids to continue, separated by commas; no BOS is added")
      ->type_name("IDS")
      ->excludes(options->text_flag)
      ->excludes(file);
  command.add_flag("--parse-special", options->parse_special,
                   "Read special tokens written in the prompt, e.g. <|eot_id|>, as such");
  command.add_flag(
      "--no-escape,!-e,!--escape", options->no_escape,
      "--no-escape leaves \\n, \\t, \\\\ and the like in -p and -r as they are; -e reads "
      "them, as is done without either");
}

Result<Prompt> ReadPrompt(const PromptOptions& options) {
  Prompt prompt = {.is_ids = !options.ids.empty(), .parse_special = options.parse_special};
  if (prompt.is_ids) {
    prompt.ids = BITTERN_TRY(ParseIntegers(options.ids, "--prompt-ids"));
  } else {
    prompt.text = BITTERN_TRY(ReadPromptText(options));
  }
  return prompt;
}

Result<std::vector<runtime::TokenId>> EncodePrompt(const Prompt& prompt,
                                                   const tokenizer::Tokenizer& tokenizer) {
  if (prompt.is_ids) return prompt.ids;
  tokenizer::EncodeLoss loss;
  auto ids = tokenizer.Encode(prompt.text, {.parse_special = prompt.parse_special}, &loss);
  ReportLoss(loss);
  if (!ids.empty()) return ids;
  return Fail(ErrorCode::kInvalidArgument,
              "the prompt is empty, and this model has no token that begins a text");
}

}  // namespace bittern::cli
