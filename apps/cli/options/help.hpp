// SPDX-License-Identifier: Apache-2.0
// The text of --help: flags in groups, the common ones first and those for experts last,
// with all their names and their defaults.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>

namespace bittern::cli {

/// For App::formatter() of the program, before its commands are added: they inherit it.
[[nodiscard]] std::shared_ptr<CLI::FormatterBase> MakeHelpFormatter();

}  // namespace bittern::cli
