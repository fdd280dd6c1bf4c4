// SPDX-License-Identifier: Apache-2.0
// `bittern tokenize`: text to token ids, for people (one token a line) and for programs (--ids,
// --json, --jsonl).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "base/json/json.hpp"
#include "cli/detokenize.hpp"
#include "cli/options/tokenizer_options.hpp"
#include "cli/shared/commands.hpp"
#include "cli/shared/output.hpp"

namespace bittern::cli {
namespace {

using tokenizer::TokenId;

struct TokenizeOptions {
  ModelOptions model;
  std::string text;
  CLI::Option* text_given = nullptr;  ///< tells `tokenize ""` from no text
  bool no_bos = false, parse_special = false;
  bool ids = false, json = false, jsonl = false;

  [[nodiscard]] tokenizer::EncodeOptions ToEncodeOptions() const {
    return {.add_bos = !no_bos, .parse_special = parse_special};
  }
};

std::string ToJsonLine(const std::vector<TokenId>& ids) {
  return fmt::format("{{\"ids\":[{}]}}\n", fmt::join(ids, ","));
}

/// One JSON string per line of stdin, one object per line of stdout.
Result<void> TokenizeJsonLines(const TokenizeOptions& options,
                               const tokenizer::Tokenizer& tokenizer, StandardOutput* out) {
  constexpr std::size_t kFlushBytes = 1 << 16;
  std::string pending;
  tokenizer::EncodeLoss loss;
  std::size_t number = 0;
  for (std::string line;;) {
    const Result<bool> read = ReadLineOfInput(&line);
    if (!read.value_or(false)) {
      out->Write(pending);
      ReportLoss(loss);
      return read.map([](bool) {});
    }
    ++number;
    const auto json = Json::Parse(line, {.max_bytes = std::size_t{256} << 20, .max_depth = 100});
    if (!json || !json->is_string()) {
      out->Write(pending);
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("standard input, line {}: a JSON string expected, {} found", number,
                              json ? json->TypeName() : "no valid JSON"));
    }
    pending += ToJsonLine(tokenizer.Encode(json->text(), options.ToEncodeOptions(), &loss));
    if (pending.size() < kFlushBytes) continue;
    if (!out->Write(pending)) return {};
    pending.clear();
  }
}

Result<void> TokenizeText(const TokenizeOptions& options, const tokenizer::Tokenizer& tokenizer,
                          StandardOutput* out) {
  std::string text = options.text;
  if (options.text_given->count() == 0) {
    text = BITTERN_TRY(ReadStandardInput());
  }
  tokenizer::EncodeLoss loss;
  const auto ids = tokenizer.Encode(text, options.ToEncodeOptions(), &loss);
  ReportLoss(loss);
  if (options.json) {
    out->Write(ToJsonLine(ids));
  } else if (options.ids) {
    out->Write(fmt::format("{}\n", fmt::join(ids, " ")));
  } else {
    out->Write(tokenizer::TokenTable(ids, tokenizer));
  }
  return {};
}

int TokenizeCommand(const TokenizeOptions& options) {
  const auto tokenizer = OpenTokenizer(options.model);
  if (!tokenizer.has_value()) return Report(tokenizer.error(), ExitCodeOf(tokenizer.error()));
  StandardOutput out;
  const Result<void> done = options.jsonl ? TokenizeJsonLines(options, *tokenizer, &out)
                                          : TokenizeText(options, *tokenizer, &out);
  if (!done.has_value()) return Report(done.error());
  const Result<void> written = out.Status();
  return written.has_value() ? 0 : Report(written.error(), kExitRuntime);
}

}  // namespace

void AddTokenize(CLI::App& app, int* exit_code) {
  CLI::App* command = app.add_subcommand("tokenize", "Show the token ids of a text");
  command->footer(
      "Example:\n  bittern tokenize \"In the beginning\"\n  printf '\"a\"\\n\"b\"\\n' | bittern "
      "tokenize --jsonl --no-bos");
  const auto options = std::make_shared<TokenizeOptions>();
  AddModelOptions(*command, &options->model, /*takes_argument=*/false);
  options->text_given =
      command
          ->add_option("text,-p,--prompt", options->text,
                       "The text, taken as it is (escapes such as \\n are not read); default: all "
                       "of standard input")
          ->type_name("TEXT");
  command->add_flag("--no-bos", options->no_bos, "Do not put BOS in front");
  command->add_flag("--parse-special", options->parse_special,
                    "Read special tokens written in the text, e.g. <|eot_id|>, as such");
  CLI::Option* ids = command->add_flag("--ids", options->ids, "Print the ids only, on one line");
  CLI::Option* json =
      command->add_flag("--json", options->json, "Print {\"ids\":[...]}")->excludes(ids);
  command
      ->add_flag("--jsonl", options->jsonl,
                 "Read one JSON string per line of standard input; print {\"ids\":[...]} for each")
      ->excludes(ids)
      ->excludes(json)
      ->excludes(options->text_given);
  command->callback([options, exit_code] { *exit_code = TokenizeCommand(*options); });
  AddDetokenize(app, exit_code);
}

}  // namespace bittern::cli
