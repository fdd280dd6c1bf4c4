// SPDX-License-Identifier: Apache-2.0
// What the model is given to read: text from a flag, a file or a pipe, or plain token ids.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>

#include "cli/options/model_options.hpp"
#include "cli/options/tokenizer_options.hpp"
#include "cli/terminal.hpp"

namespace bittern::cli {
namespace {

Result<std::string> ReadAll(std::FILE* stream, std::string_view name) {
  std::string text;
  char buffer[4096];
  errno = 0;
  for (std::size_t size; (size = std::fread(buffer, 1, sizeof buffer, stream)) > 0;) {
    text.append(buffer, size);
  }
  if (std::ferror(stream) == 0) return text;
  return Fail(ErrorCode::kIo, fmt::format("{}: cannot read: {}", name, std::strerror(errno)));
}

/// Editors and echo end a text with a newline that is not part of the prompt.
std::string WithoutLastNewline(std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

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

Result<std::string> ReadFileText(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             &std::fclose);
  if (file == nullptr) {
    const auto code = errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo;
    return Fail(code, fmt::format("{}: {}", path, std::strerror(errno)));
  }
  return ReadAll(file.get(), path);
}

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

Result<std::string> ReadStandardInput() { return ReadAll(stdin, "standard input"); }

Result<bool> ReadLineOfInput(std::string* line) {
  line->clear();
  errno = 0;
  for (int c; (c = std::getc(stdin)) != EOF;) {
    if (c == '\n') return true;
    line->push_back(static_cast<char>(c));
  }
  if (std::ferror(stdin) == 0) return !line->empty();
  return Fail(ErrorCode::kIo, fmt::format("standard input: cannot read: {}", std::strerror(errno)));
}

Result<std::vector<std::int32_t>> ParseIntegers(std::string_view text, std::string_view flag) {
  std::vector<std::int32_t> numbers;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    std::string_view part = text.substr(begin, end - begin);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    std::int32_t number = 0;
    const auto [rest, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    if (error != std::errc() || rest != part.data() + part.size()) {
      return Fail(
          ErrorCode::kInvalidArgument,
          fmt::format("{}: whole numbers separated by commas expected, \"{}\" found", flag, part));
    }
    numbers.push_back(number);
    begin = end + 1;
  }
  return numbers;
}

std::string Unescape(std::string_view text) {
  constexpr std::string_view kLetters = "ntr\\\"'", kMeanings = "\n\t\r\\\"'";
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool backslash = text[i] == '\\' && i + 1 < text.size();
    const std::size_t letter = backslash ? kLetters.find(text[i + 1]) : std::string_view::npos;
    result += letter == std::string_view::npos ? text[i] : kMeanings[letter];
    i += letter == std::string_view::npos ? 0 : 1;
  }
  return result;
}

}  // namespace bittern::cli
