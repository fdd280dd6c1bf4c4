// SPDX-License-Identifier: Apache-2.0
// How the next token is picked and when the text ends, under llama.cpp's names.
#pragma once

#include "cli/shared/cli11.hpp"
#include "formats/metadata.hpp"
#include "runtime/session.hpp"

namespace bittern::cli {

/// -n, -s, --temp, --top-k, --top-p, --min-p, --repeat-penalty, --repeat-last-n, -r,
/// --spec, --ignore-eos, --special, and those of options/sampler_options.hpp
void AddSamplingOptions(CLI::App& command, runtime::GenerateOptions* options);

/// Takes what the model file recommends for options that are not on the command line
/// (runtime/sampling/sampling_defaults.hpp) and prints what is notable about it, or all with
/// `verbose`.
void TakeSamplingDefaults(const CLI::App& command, const formats::Metadata& metadata, bool verbose,
                          runtime::SamplerOptions* options);

}  // namespace bittern::cli
