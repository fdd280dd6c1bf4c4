// SPDX-License-Identifier: Apache-2.0
// The form that the text must have: a grammar, a JSON schema, a regular expression
// (docs/structured-output.md).
#pragma once

#include <optional>
#include <string_view>

#include "cli/shared/cli11.hpp"
#include "runtime/generate_options.hpp"

namespace bittern::cli {

/// --grammar, --grammar-file, --json-schema, --json-schema-file, --regex. What cannot be obeyed is
/// refused while flags are read.
void AddConstraintOptions(CLI::App& command, runtime::GenerateOptions* options);

/// Names what a cut text was to be: "the JSON", "the text of the grammar".
[[nodiscard]] std::string_view NameOfConstrained(
    const std::optional<grammar::Constraint>& constraint) noexcept;

/// The way out of a text that repeats itself.
inline constexpr std::string_view kOutOfLoop =
    "--stop-on-loop ends it there, --repeat-penalty 1.1 makes it rarer, and if the text is "
    "garbage, `bittern doctor FILE` says why";

}  // namespace bittern::cli
