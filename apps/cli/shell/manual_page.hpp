// SPDX-License-Identifier: Apache-2.0
// A manual page in the language of man(7), made from what --help says.
#pragma once

#include <string>

#include "cli/shared/cli11.hpp"

namespace bittern::cli {

/// "bittern-run" for the command, "bittern" for the program itself.
[[nodiscard]] std::string ManualPageName(const CLI::App& command);

/// The page of the program or of one command, with the commands below it.
[[nodiscard]] std::string ManualPage(const CLI::App& command);

}  // namespace bittern::cli
