// SPDX-License-Identifier: Apache-2.0
// Ranges are checked by the sampler itself, so that every caller gets the same messages.
#include "cli/options/sampling_options.hpp"

#include <CLI/CLI.hpp>
#include <string>

#include "cli/options/constraint_options.hpp"
#include "cli/options/model_options.hpp"
#include "cli/options/sampler_options.hpp"
#include "cli/options/tabled_options.hpp"
#include "cli/shared/wording.hpp"
#include "request/options/choice_names.hpp"
#include "runtime/sampling/sampling_defaults.hpp"

namespace bittern::cli {
void AddSamplingOptions(CLI::App& command, runtime::GenerateOptions* options) {
  AddTabled(command, "n_predict", &options->max_tokens);
  for (const char* name :
       {"seed", "temperature", "top_k", "top_p", "min_p", "repeat_penalty", "repeat_last_n"}) {
    AddSamplerFlag(command, name, &options->sampler);
  }
  AddTabled(command, "stop", &options->stops);
  AddTabled(command, "speculation", request::kSpeculations, &options->speculation);
  AddTabled(command, "ignore_eos", &options->ignore_eos);
  AddTabled(command, "special", &options->render_special);
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
