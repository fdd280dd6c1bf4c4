// SPDX-License-Identifier: Apache-2.0
// The rows, and how their values are read.
#include "request/options/option_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "base/threads/thread_pool.hpp"
#include "request/options/option_text.hpp"
#include "runtime/sampling/logprobs.hpp"

namespace bittern::request {
namespace {

constexpr double kMostWhole = std::numeric_limits<int>::max();

// Makers of rows, one for each type.
constexpr Option WholeRow(std::string_view name, std::string_view flags, unsigned uses,
                          double least, double most, std::string_view initial,
                          std::string_view help) {
  return {name, flags, "N", uses, OptionType::kWhole, least, most, "", initial, false, help};
}
constexpr Option SwitchRow(std::string_view name, std::string_view flags, unsigned uses,
                           std::string_view initial, std::string_view help) {
  return {name, flags, "", uses, OptionType::kSwitch, 0, 0, "", initial, false, help};
}
constexpr Option ChoiceRow(std::string_view name, std::string_view flags, unsigned uses,
                           std::string_view choices, std::string_view initial,
                           std::string_view help) {
  return {name, flags, "NAME", uses, OptionType::kChoice, 0, 0, choices, initial, false, help};
}
constexpr Option TextRow(std::string_view name, std::string_view flags,
                         std::string_view placeholder, unsigned uses, std::string_view initial,
                         std::string_view help) {
  return {name, flags, placeholder, uses, OptionType::kText, 0, 0, "", initial, false, help};
}
constexpr Option TextsRow(std::string_view name, std::string_view flags,
                          std::string_view placeholder, unsigned uses, std::string_view help) {
  return {name, flags, placeholder, uses, OptionType::kText, 0, 0, "", "", true, help};
}

constexpr Option kOptionRows[] = {
    WholeRow("threads", "t,threads",
             kForModel | kForSequence | kForConvert | kForScore | kForDoctor, 0,
             ThreadPool::kMaxThreads, "0",
             "Threads at most; 0: one per physical core that this process may use"),
    ChoiceRow("kernel", "kernel", kForModel, "auto tile16 tile48 tl1 tl2", "auto",
              "How ternary matrices are multiplied: tile16 (multiply-adds), tile48 (the same "
              "from 1.67 bits per weight), tl1 or tl2 (lookup tables). Same output, different "
              "speed and memory"),
    ChoiceRow(
        "head", "head", kForModel, "auto exact screened", "auto",
        "How the output head is computed. screened: a coarse copy rules out most rows, the rest "
        "are computed exactly; exact: computes all rows. Same output, different speed and "
        "memory"),
    ChoiceRow(
        "batch_kernel", "batch-kernel", kForModel, "auto tile16 vlut", "auto",
        "How prompts and many sequences are multiplied: tile16 (multiply-adds), vlut (lookup "
        "tables shared by tokens) or auto: the faster one here. Same output, different speed"),
    ChoiceRow(
        "activations", "activations", kForModel, "auto int8 int10 int16", "auto",
        "How the inputs of ternary matrices are rounded, of models that were trained without: "
        "int16 is as good as exact; int10 reads prompts up to twice as fast and moves three likely "
        "tokens in a thousand; int8 moves ten; auto: int10"),
    ChoiceRow("zero_skip", "zero-skip", kForModel, "auto on off", "auto",
              "on, off or auto: skip weights that would be multiplied by zero (models with squared "
              "ReLU). Same output, different speed"),
    TextRow("isa", "", "", kForModel, "",
            "Instruction set to use, e.g. scalar or avx2; empty: the best"),
    TextRow(
        "layout_cache", "", "", kForModel, "",
        "A file that keeps which layout of weights is faster on this machine; it is measured once "
        "and written there. Empty: nothing is measured or written"),
    TextsRow(
        "override_kv", "override-kv", "KEY=TYPE:VALUE", kForModel | kForConvert,
        "KEY=TYPE:VALUE (int, float, bool, str) in place of a metadata value of the file; may be "
        "repeated"),
    ChoiceRow(
        "i2s_layout", "i2s-layout", kForModel | kForConvert, "x86-128 arm-64 row4 sequential", "",
        "How an I2_S file orders its weights: x86-128 (the official file), arm-64 (made by "
        "bitnet.cpp on ARM), row4 or sequential; without this, as the file says, else x86-128"),
    TextsRow("tl_tiling", "tl-tiling", "ROWS,COLS,BM,BK,bm", kForModel | kForConvert,
             "Tiling of a TL1 or TL2 file's matrices of one shape, from its converter's "
             "kernel_config.ini; may be repeated"),
    WholeRow("context_length", "c,ctx-size", kForSequence, 0, kMostWhole, "0",
             "Tokens the context holds; 0: as many as the model allows"),
    ChoiceRow("kv_type", "", kForSequence, "f16 f32 i8", "f16",
              "How keys and values are kept; i8 is an approximation"),
    WholeRow("batch_size", "ubatch-size", kForSequence, 1, 1 << 20, "512",
             "Tokens of one pass at most"),
    WholeRow(
        "max_sequences", "", kForSequence, 1, 1024, "1 for sequences, 8 for engines",
        "Full contexts that a sequence and its forks have room for; requests of an engine that "
        "run at the same time"),
    WholeRow("cache_tokens", "", kForSequence, 0, kMostWhole, "0",
             "Tokens of all requests and the prefix cache of an engine together; 0: what 2 GiB of "
             "keys and values hold, no more than max_sequences contexts"),
    SwitchRow("prefix_cache", "", kForSequence, "on",
              "An engine keeps what earlier requests have read"),
    SwitchRow("hidden", "", kForSequence, "off",
              "Keep the last hidden state (bittern_sequence_hidden)"),
    WholeRow("n_predict", "n,predict,n-predict", kForGenerate, -2, kMostWhole, "128",
             "New tokens at most; -1 (or -2): until the text ends or the context is full"),
    SwitchRow("stop_on_loop", "stop-on-loop", kForGenerate, "off",
              "Stop where the text repeats one passage over and over (finish reason: loop)"),
    TextsRow("stop", "r,reverse-prompt", "TEXT", kForGenerate,
             "Stop before this text appears; may be repeated"),
    TextRow("grammar", "grammar", "GBNF", kForGenerate, "", "Keep the text to this grammar"),
    TextRow("json_schema", "j,json-schema", "SCHEMA", kForGenerate, "",
            "Write JSON that is valid under this schema; {}: any JSON"),
    TextRow("regex", "regex", "PATTERN", kForGenerate, "",
            "Write a text that matches this regular expression from end to end"),
    SwitchRow("ignore_eos", "ignore-eos", kForGenerate, "off",
              "Go on after the token that ends a text"),
    SwitchRow("special", "special", kForGenerate, "off", "Print special tokens too"),
    WholeRow("logprobs", "logprobs", kForGenerate, -1, runtime::kMostLogprobs, "-1",
             "Write how probable each token was, and the N most probable ones at its place "
             "(0: none); -1: off"),
    SwitchRow("receipt", "", kForGenerate, "off",
              "The result has a receipt, which bittern_verify replays on any machine"),
    ChoiceRow(
        "speculation", "spec", kForGenerate, "ngram off always", "ngram",
        "Guess tokens from repetitions and check them together: ngram (where it pays), off or "
        "always. Same text, different speed"),
    TextRow("to", "", "", kForConvert, "",
            "Format of the ternary weights, e.g. i2_s, tq2_0 or safetensors"),
    TextRow("embeddings", "", "", kForConvert, "keep",
            "Format of embedding and output head: keep, or e.g. f16"),
    ChoiceRow("scale_type", "scale-type", kForConvert, "bf16 f32", "bf16",
              "safetensors: how scales are kept: bf16, as in the published models, or f32, "
              "which rounds nothing"),
    TextsRow(
        "tiling", "tiling", "ROWS,COLS,BM,BK,bm", kForConvert,
        "tl1, tl2: tiling of the matrices of one shape (default: bitnet.cpp's where it has one); "
        "may be repeated"),
    SwitchRow("prove", "prove", kForConvert, "off",
              "Read the output back from the disk and compare every weight"),
    SwitchRow("overwrite", "", kForConvert | kForDoctor, "off", "Replace a file that is there"),
    ChoiceRow("pooling", "pooling", kForEmbed, "auto last first mean", "auto",
              "The positions of a text that count: the last one, the first one, or the mean "
              "of all; auto: as the model's file says, else the last one"),
    SwitchRow("normalize", "", kForEmbed, "off", "Vectors of length 1"),
    SwitchRow("values", "values", kForTrace, "off", "Also write all values, as .npy files"),
    WholeRow("window", "c,ctx-size", kForScore, 0, kMostWhole, "0",
             "Tokens of a window; 0: 512, or the model's limit where that is less (questions: "
             "the model's limit)"),
    WholeRow("stride", "ppl-stride", kForScore, 0, kMostWhole, "0",
             "Tokens from one window to the next, of which the last N are scored, as "
             "llama-perplexity has it; 0: windows lie end to end"),
    WholeRow("most", "chunks", kForScore, -1, kMostWhole, "-1",
             "Windows or questions at most; -1: all"),
    SwitchRow("every_token", "every-token", kForScore, "off",
              "Score every token but the first once; windows lie one stride apart"),
    TextRow("fix", "fix", "OUT", kForDoctor, "",
            "Write the model with all that can be put right put right; the file itself is not "
            "changed"),
    TextRow(
        "like", "like", "HEALTHY", kForDoctor, "",
        "Also compare with this file or folder, a healthy one, tensor by tensor and key by key"),
    TextRow("cache", "", "", kForPull, "",
            "Folder of downloaded models; empty: HF_HUB_CACHE or what else Hugging Face's programs "
            "use"),
    TextRow("endpoint", "endpoint", "URL", kForPull, "",
            "Address of the hub; without it $HF_ENDPOINT, else https://huggingface.co"),
    TextRow("token", "hf-token", "TOKEN", kForPull, "",
            "Token for private and gated repositories; without it $HF_TOKEN, else the file that "
            "`hf auth login` writes"),
    SwitchRow("offline", "offline", kForPull, "off",
              "Use downloaded models only; $HF_HUB_OFFLINE=1 does the same"),
    SwitchRow("update", "", kForPull, "on",
              "Ask the hub for the newest state; off: only where the cache lacks the model"),
    WholeRow("connections", "connections", kForPull, 1, 16, "4",
             "Connections for one file, each for 16 MiB at a time"),
    WholeRow("retries", "retries", kForPull, 0, 100, "5",
             "Tries in a row that may bring nothing before it is given up"),
};

/// True if `value` is one of the words.
bool IsOneOf(std::string_view value, std::string_view words) {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    if (words.substr(0, end) == value) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

}  // namespace

std::span<const Option> OptionTable() noexcept { return kOptionRows; }

const Option* FindOption(std::string_view name) noexcept {
  const auto* const row = std::ranges::find(kOptionRows, name, &Option::name);
  return row == std::end(kOptionRows) ? nullptr : row;
}

bool IsOn(std::string_view text) noexcept { return IsOneOf(text, "on 1 true"); }

bool Accepts(const Option& option, std::string_view text) {
  switch (option.type) {
    case OptionType::kText:
      return true;
    case OptionType::kSwitch:
      return IsOn(text) || IsOneOf(text, "off 0 false");
    case OptionType::kChoice:
      return IsOneOf(text, option.choices);
    case OptionType::kWhole:
      break;
  }
  const auto number = ParseNumber<std::int64_t>(text);
  return number && static_cast<double>(*number) >= option.least &&
         static_cast<double>(*number) <= option.most;
}

std::string ExpectedText(const Option& option) {
  switch (option.type) {
    case OptionType::kWhole:
      return WholeNumberWords(option.least, option.most);
    case OptionType::kSwitch:
      return "on or off";
    case OptionType::kChoice:
      return fmt::format("one of {}", option.choices);
    case OptionType::kText:
      break;
  }
  return "a text";
}

}  // namespace bittern::request
