// SPDX-License-Identifier: Apache-2.0
// `bittern detokenize`: token ids to text.
#include "cli/detokenize.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/json/json.hpp"
#include "base/utf8.hpp"
#include "cli/options/tokenizer_options.hpp"
#include "cli/shared/commands.hpp"
#include "cli/shared/output.hpp"
#include "cli/shared/terminal.hpp"

namespace bittern::cli {
namespace {

using tokenizer::TokenId;

struct DetokenizeOptions {
  ModelOptions model;
  std::vector<std::string> ids;
  bool render_special = false, json = false;
};

Result<std::vector<TokenId>> ReadIds(const DetokenizeOptions& options, TokenId vocab_size) {
  std::vector<TokenId> ids;
  for (const std::string& word : options.ids)
    BITTERN_TRY(tokenizer::AppendIds(word, vocab_size, &ids));
  if (!options.ids.empty()) return ids;
  const std::string text = BITTERN_TRY(ReadStandardInput());
  BITTERN_TRY(tokenizer::AppendIds(text, vocab_size, &ids));
  return ids;
}

int DetokenizeCommand(const DetokenizeOptions& options) {
  const auto tokenizer = OpenTokenizer(options.model);
  if (!tokenizer.has_value()) return Report(tokenizer.error(), ExitCodeOf(tokenizer.error()));
  const auto ids = ReadIds(options, tokenizer->vocab_size());
  if (!ids.has_value()) return Report(ids.error());
  std::string text = ReplaceInvalidUtf8(tokenizer->Decode(*ids, options.render_special));
  if (options.json) text = Json{{"text", text}}.Dump();
  // A pipe gets the text and nothing else, so that tokenize and detokenize undo each other.
  if (options.json || IsTerminal(stdout)) text += '\n';
  StandardOutput out;
  out.Write(text);
  const Result<void> written = out.Status();
  return written.has_value() ? 0 : Report(written.error(), kExitRuntime);
}

}  // namespace

void AddDetokenize(CLI::App& app, int* exit_code) {
  CLI::App* command = app.add_subcommand("detokenize", "Show the text of token ids");
  command->footer(
      "Example:\n  bittern detokenize 4080 1066 356\n  bittern tokenize --ids \"In the "
      "beginning\" | bittern detokenize");
  const auto options = std::make_shared<DetokenizeOptions>();
  AddModelOptions(*command, &options->model, /*takes_argument=*/false);
  command->add_option("ids", options->ids, "The ids; default: from standard input")
      ->type_name("ID");
  command->add_flag("--render-special", options->render_special,
                    "Write special tokens by name; without it they give nothing");
  command->add_flag("--json", options->json, "Print {\"text\":\"...\"}");
  command->callback([options, exit_code] { *exit_code = DetokenizeCommand(*options); });
}

}  // namespace bittern::cli
