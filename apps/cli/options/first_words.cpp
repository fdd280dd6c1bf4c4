// SPDX-License-Identifier: Apache-2.0
// One row for each meaning. To teach the program another word, add it here;
// tests/first_words_test.py types them.
#include "cli/options/first_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "cli/options/foreign_flags.hpp"
#include "formats/convert/convert.hpp"
#include "hub/reference.hpp"

namespace bittern::cli {
namespace {

constexpr std::string_view kRunOrChat =
    "`bittern run -m FILE -p TEXT` continues a text, `bittern chat FILE` talks";
constexpr std::string_view kUseServe = "`bittern serve FILE` is the server";
constexpr std::string_view kUseConvert =
    "`bittern convert FOLDER OUT.gguf --to i2_s` makes a GGUF file of a model, without Python";
constexpr std::string_view kUseQuantize =
    "`bittern quantize IN OUT TYPE` or `bittern convert IN OUT --to TYPE` writes ternary formats";
constexpr std::string_view kMergeFirst =
    "Bittern reads whole models: merge the adapter, then use `bittern convert`";
constexpr std::string_view kTextOnly =
    "Bittern reads and writes text only: `bittern chat FILE` talks";
constexpr std::string_view kAccount =
    "there is no account here: `bittern pull NAME` downloads, and --hf-token or $HF_TOKEN opens "
    "gated repositories";

constexpr FirstWord kWords[] = {
    {"list ls", "models", ""},
    {"show info", "inspect", ""},
    {"quantize", "convert", ""},
    {"perplexity", "eval", ""},
    {"download", "pull", ""},
    {"embedding embeddings", "embed", ""},

    {"create", "",
     "a model is one file: `bittern convert IN OUT --to FORMAT` writes it, `bittern meta set` "
     "changes its chat template, `bittern chat -sys TEXT` gives it a system prompt"},
    {"push", "", "`bittern pull NAME` downloads models; nothing is uploaded"},
    {"cp copy", "", "copy the file that `bittern models` names: `cp $(bittern pull NAME) FILE`"},
    {"stop unload", "",
     "a model is in memory as long as its command runs: `bittern ps` has the PID "
     "of a server, `kill PID` ends it"},
    {"signin signout login launch", "", kAccount},
    {"imatrix llama-imatrix", "",
     "ternary weights need no importance matrix: `bittern convert IN OUT --to FORMAT`"},
    {"tts llama-tts mtmd llama-mtmd-cli llava llama-llava-cli", "", kTextOnly},
    {"export-lora llama-export-lora finetune llama-finetune", "", kMergeFirst},
    {"cvector-generator llama-cvector-generator", "",
     "there are no control vectors; `bittern trace` shows what happens in the layers"},
    {"gguf-split llama-gguf-split split merge", "",
     "all parts of a split model are read where the first one is named; `bittern convert IN OUT "
     "--to FORMAT` writes one file"},
    {"cli main simple generate complete llama llama-cli llama-simple llama-simple-chat "
     "llama-completion llama-run ollama",
     "", kRunOrChat},
    {"server llama-server llamafile", "", kUseServe},
    {"llama-bench batched-bench llama-batched-bench", "", "`bittern bench FILE` measures speed"},
    {"llama-quantize", "", kUseQuantize},
    {"llama-perplexity", "", "`bittern perplexity -m FILE -f TEXT` or `bittern eval TEXT -m FILE`"},
    {"llama-embedding", "", "`bittern embed -m FILE` reads lines and prints their vectors"},
    {"llama-tokenize", "", "`bittern tokenize TEXT -m FILE` shows tokens"},
    {"llama-batched llama-parallel parallel", "",
     "`bittern batch FILE` runs many requests, `bittern serve -np N` answers many at a time"},
    {"llama-speculative speculative llama-lookup lookup", "",
     "`bittern run` guesses ahead by itself; --spec says how"},
    {"rpc-server llama-rpc-server", "",
     "Bittern computes on this machine only: `bittern serve FILE`"},
    {"convert_hf_to_gguf convert-hf-to-gguf convert_hf_to_gguf.py convert.py setup_env "
     "setup_env.py",
     "", kUseConvert},
    {"run_inference run_inference.py", "", kRunOrChat},
    {"run_inference_server.py", "", kUseServe},
    {"huggingface-cli hf", "", kAccount},
};

const FirstWord* FindWord(std::string_view word) {
  const auto* row = std::ranges::find_if(
      kWords, [&](const FirstWord& each) { return HasWord(each.names, word); });
  return row == std::end(kWords) ? nullptr : row;
}

/// True if the word after `flag` of our command is its value.
bool TakesNext(const CLI::App& command, const std::string& flag) {
  if (flag.find('=') != std::string::npos) return false;
  const CLI::Option* ours = command.get_option_no_throw(flag);
  if (ours != nullptr) return ours->get_items_expected_max() > 0;
  const ForeignFlag* foreign = FindForeignFlag(flag, command.get_name(), false);
  return foreign != nullptr && foreign->value == ForeignValue::kOne;
}

/// `quantize IN OUT TYPE [THREADS]` as words of `convert`. A TYPE that is none of ours would be a
/// loss of weights or of bits, so the error says what there is.
Result<std::vector<std::string>> QuantizeWords(const CLI::App& convert,
                                               std::span<const std::string> rest) {
  std::vector<std::string> words, places;
  bool as_ours = false;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    const bool is_flag = rest[i].size() > 1 && rest[i].front() == '-';
    as_ours = as_ours || rest[i] == "--help" || rest[i] == "-h" || rest[i].starts_with("--to");
    if (!is_flag) {
      places.push_back(rest[i]);
      continue;
    }
    words.push_back(rest[i]);
    if (TakesNext(convert, rest[i]) && i + 1 < rest.size()) words.push_back(rest[++i]);
  }
  if (as_ours) return std::vector<std::string>(rest.begin(), rest.end());
  if (places.size() < 3 || places.size() > 4) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("quantize: IN OUT TYPE expected, as llama-quantize has them, {} {} "
                            "found; TYPE is one of {}",
                            places.size(), places.size() == 1 ? "word" : "words",
                            fmt::join(formats::ConvertTargets(), ", ")));
  }
  if (std::ranges::find(formats::ConvertTargets(), hub::Lower(places[2])) ==
      formats::ConvertTargets().end()) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("quantize: one of {} expected, \"{}\" found: ternary weights are "
                            "carried over, and no other format holds them",
                            fmt::join(formats::ConvertTargets(), ", "), places[2]));
  }
  words.insert(words.end(), {places[0], places[1], "--to", places[2]});
  if (places.size() == 4) words.insert(words.end(), {"-t", places[3]});
  return words;
}

/// `perplexity -f FILE` as words of `eval`, where the file stands alone.
std::vector<std::string> PerplexityWords(std::span<const std::string> rest) {
  std::vector<std::string> words;
  for (const std::string& word : rest) {
    if (word == "-f" || word == "--file") continue;
    words.push_back(word.starts_with("--file=") ? word.substr(std::string("--file=").size())
                                                : word);
  }
  return words;
}

}  // namespace

std::span<const FirstWord> FirstWords() noexcept { return kWords; }

std::vector<std::string> OtherWordsOf(std::string_view name) {
  std::vector<std::string> words;
  for (const FirstWord& row : kWords) {
    std::string_view names = row.command == name ? row.names : std::string_view();
    while (!names.empty()) {
      const std::size_t end = std::min(names.find(' '), names.size());
      words.emplace_back(names.substr(0, end));
      names.remove_prefix(std::min(end + 1, names.size()));
    }
  }
  return words;
}

/// Commands of ours go first: the table cannot hide one.
Result<std::vector<std::string>> InOurWords(const CLI::App& app,
                                            std::span<const std::string> words) {
  std::vector<std::string> ours(words.begin(), words.end());
  const std::size_t at = !ours.empty() && ours[0] == "help" ? 1 : 0;
  if (at >= ours.size() || app.get_option_no_throw(ours[at]) != nullptr) return ours;
  const FirstWord* row = FindWord(ours[at]);
  if (row == nullptr) return ours;
  if (row->command.empty()) {
    return Fail(ErrorCode::kUnsupported,
                fmt::format("\"{}\" is not a command of Bittern: {}", ours[at], row->sentence));
  }
  const std::string typed = std::exchange(ours[at], std::string(row->command));
  if (at == 1) return ours;
  const auto rest = std::span<const std::string>(ours).subspan(1);
  std::vector<std::string> arguments(rest.begin(), rest.end());
  if (typed == "quantize")
    arguments = BITTERN_TRY(QuantizeWords(*app.get_subcommand(ours[0]), rest));
  if (typed == "perplexity") arguments = PerplexityWords(rest);
  arguments.insert(arguments.begin(), ours[0]);
  return arguments;
}

}  // namespace bittern::cli
