// SPDX-License-Identifier: Apache-2.0
// Completions of the command line for shells, made from the program's own commands and flags.
#pragma once

#include <string>

#include "cli/shared/cli11.hpp"

namespace bittern::cli {

// A script for the shell, of all commands of the program.
[[nodiscard]] std::string BashCompletion(const CLI::App& program);
[[nodiscard]] std::string ZshCompletion(const CLI::App& program);
[[nodiscard]] std::string FishCompletion(const CLI::App& program);

}  // namespace bittern::cli
