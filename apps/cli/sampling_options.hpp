// SPDX-License-Identifier: Apache-2.0
// How the next token is picked and when the text ends, under llama.cpp's names.
#pragma once

#include <CLI/CLI.hpp>

#include "runtime/session.hpp"

namespace bittern::cli {

/// -n, -s, --temp, --top-k, --top-p, --min-p, --repeat-penalty, --repeat-last-n, -r,
/// --spec, --ignore-eos, --special
void AddSamplingOptions(CLI::App& command, runtime::GenerateOptions* options);

}  // namespace bittern::cli
