// SPDX-License-Identifier: Apache-2.0
// Ranges are checked by the sampler itself, so that every caller gets the same messages.
#include "cli/options/sampling_options.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <string>

#include "cli/options/constraint_options.hpp"
#include "cli/options/model_options.hpp"
#include "cli/options/sampler_options.hpp"
#include "cli/options/wording.hpp"
#include "runtime/sampling/sampling_defaults.hpp"

namespace bittern::cli {
namespace {

CLI::Validator SeedNumber() {
  const auto check = [](const std::string& text) {
    std::int64_t seed = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
    const bool whole = error == std::errc() && rest == text.data() + text.size();
    if (whole && seed >= -1 && seed <= 0xffffffff) return std::string();
    return fmt::format("a whole number of -1 to 4294967295 expected, \"{}\" found", text);
  };
  return {check, ""};
}

}  // namespace

void AddSamplingOptions(CLI::App& command, runtime::GenerateOptions* options) {
  runtime::SamplerOptions* sampler = &options->sampler;
  command
      .add_option("-n,--predict,--n-predict", options->max_tokens,
                  "New tokens at most; -1 (or -2): until the text ends or the context is full")
      ->type_name("N")
      ->check(WholeNumber(-2))
      ->capture_default_str();
  command
      .add_option_function<std::int64_t>(
          "-s,--seed",
          [sampler](std::int64_t seed) { sampler->seed = static_cast<std::uint32_t>(seed); },
          "Seed of the random draw; -1 (or 4294967295, as in llama.cpp): a new one each time")
      ->type_name("N")
      ->check(SeedNumber())
      ->default_str("-1");
  command
      .add_option("--temp,--temperature", sampler->temperature,
                  "Temperature; 0 or less: always the most probable token. A model file may "
                  "recommend another value of this and of --top-k to --repeat-last-n")
      ->type_name("X")
      ->check(Number())
      ->capture_default_str();
  command.add_option("--top-k", sampler->top_k, "Draw among the K best; 0 (or -1): all")
      ->type_name("K")
      ->check(WholeNumber(-1))
      ->capture_default_str();
  command
      .add_option("--top-p", sampler->top_p,
                  "Draw among the fewest best whose probability reaches P; 1: all")
      ->type_name("P")
      ->check(Number(0, 1))
      ->capture_default_str();
  command
      .add_option("--min-p", sampler->min_p,
                  "Drop what is less probable than P times the best; 0: nothing")
      ->type_name("P")
      ->check(Number(0, 1))
      ->capture_default_str();
  command
      .add_option("--repeat-penalty", sampler->repeat_penalty,
                  "Make recent tokens less probable; 1: off")
      ->type_name("X")
      ->check(Number())
      ->capture_default_str();
  command
      .add_option("--repeat-last-n", sampler->repeat_last_n,
                  "How many tokens count as recent; 0: none, -1: all")
      ->type_name("N")
      ->check(WholeNumber(-1))
      ->capture_default_str();
  command
      .add_option("-r,--reverse-prompt", options->stops,
                  "Stop before this text appears; may be repeated")
      ->type_name("TEXT")
      ->allow_extra_args(false);
  command
      .add_option_function<std::string>(
          "--spec",
          [options](const std::string& mode) {
            options->speculation = mode == "off"      ? runtime::Speculation::kOff
                                   : mode == "always" ? runtime::Speculation::kAlways
                                                      : runtime::Speculation::kNgram;
          },
          "Guess tokens from repetitions and check them together: ngram (where it pays), off or "
          "always. Same text, different speed")
      ->type_name("MODE")
      ->transform(OneOf({"ngram", "off", "always"}))
      ->default_str("ngram");
  command.add_flag("--ignore-eos", options->ignore_eos, "Go on after the token that ends a text");
  command.add_flag("--special", options->render_special, "Print special tokens too");
  AddSamplerOptions(command, options);
  AddConstraintOptions(command, options);
}

void TakeSamplingDefaults(const CLI::App& command, const formats::Metadata& metadata, bool verbose,
                          runtime::SamplerOptions* options) {
  Decisions decisions;
  for (const runtime::SamplingKey& key : runtime::SamplingKeys()) {
    if (command.count(WordOptions(key.option)) != 0) continue;
    runtime::TakeSamplingDefault(metadata, key, options, &decisions);
  }
  PrintDecisions(decisions, verbose);
}

}  // namespace bittern::cli
