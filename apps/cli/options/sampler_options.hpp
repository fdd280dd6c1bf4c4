// SPDX-License-Identifier: Apache-2.0
// The rarer samplers, under llama.cpp's names (docs/sampling.md).
#pragma once

#include <string>
#include <string_view>

#include "cli/shared/cli11.hpp"
#include "request/options/sampler_option_table.hpp"
#include "runtime/generate_options.hpp"

namespace bittern::cli {

/// The flag that says what the row of this name does, with its checks, help and default.
void AddSamplerFlag(CLI::App& command, std::string_view name, runtime::SamplerOptions* sampler);

/// --samplers, --sampler-seq, penalties, typical-p, top-n-sigma, XTC, DRY, dynamic temperature,
/// mirostat, adaptive-p, --min-keep, --logit-bias, --stop-on-loop
void AddSamplerOptions(CLI::App& command, runtime::GenerateOptions* options);

/// --logprobs, for commands that can write them
void AddLogprobsOption(CLI::App& command, runtime::GenerateOptions* options);

}  // namespace bittern::cli
