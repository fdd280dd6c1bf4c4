// SPDX-License-Identifier: Apache-2.0
// The form that the text must have: a grammar, a JSON schema, a regular expression
// (docs/structured-output.md).
#pragma once

#include "cli/shared/cli11.hpp"
#include "runtime/generate_options.hpp"

namespace bittern::cli {

/// --grammar, --grammar-file, --json-schema, --json-schema-file, --regex. What cannot be obeyed is
/// refused while flags are read.
void AddConstraintOptions(CLI::App& command, runtime::GenerateOptions* options);

}  // namespace bittern::cli
