// SPDX-License-Identifier: Apache-2.0
// Ranges are checked by the sampler itself, so that every caller gets the same messages.
#include "cli/options/sampling_options.hpp"

#include <CLI/CLI.hpp>
#include <string>

#include "cli/options/constraint_options.hpp"
#include "cli/options/model_options.hpp"
#include "cli/options/sampler_options.hpp"
#include "cli/shared/wording.hpp"
#include "request/choice_names.hpp"
#include "runtime/sampling/sampling_defaults.hpp"

namespace bittern::cli {
void AddSamplingOptions(CLI::App& command, runtime::GenerateOptions* options) {
  command
      .add_option("-n,--predict,--n-predict", options->max_tokens,
                  "New tokens at most; -1 (or -2): until the text ends or the context is full")
      ->type_name("N")
      ->check(WholeNumber(-2))
      ->capture_default_str();
  for (const char* name :
       {"seed", "temperature", "top_k", "top_p", "min_p", "repeat_penalty", "repeat_last_n"}) {
    AddSamplerFlag(command, name, &options->sampler);
  }
  command
      .add_option("-r,--reverse-prompt", options->stops,
                  "Stop before this text appears; may be repeated")
      ->type_name("TEXT")
      ->allow_extra_args(false);
  command
      .add_option_function<std::string>(
          "--spec",
          [options](const std::string& mode) {
            options->speculation = request::ChoiceByName(request::kSpeculations, mode);
          },
          "Guess tokens from repetitions and check them together: ngram (where it pays), off or "
          "always. Same text, different speed")
      ->type_name("MODE")
      ->transform(OneOf(request::NamesOf(request::kSpeculations)))
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
