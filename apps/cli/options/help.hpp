// SPDX-License-Identifier: Apache-2.0
// The text of --help: flags in groups, the common ones first and those for experts last,
// with all their names and their defaults.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/shared/cli11.hpp"

namespace bittern::cli {

/// For App::formatter() of the program, before its commands are added: they inherit it.
[[nodiscard]] std::shared_ptr<CLI::FormatterBase> MakeHelpFormatter();

// Parts that manual pages and completions share (shell/):

/// The flags of a command under the heading that --help gives them, in its order.
struct FlagGroup {
  std::string_view name;
  std::vector<const CLI::Option*> flags;
};
[[nodiscard]] std::vector<FlagGroup> FlagGroups(const CLI::App& app);

/// The places of a command that take a value without a flag.
[[nodiscard]] std::vector<const CLI::Option*> Positionals(const CLI::App& app);

/// Commands below `app`, in the order in which they were added.
[[nodiscard]] std::vector<const CLI::App*> CommandsOf(const CLI::App& app);

/// All names of a flag with their dashes, the short ones first.
[[nodiscard]] std::vector<std::string> NamesOf(const CLI::Option& flag);

/// The name of a flag's value, "FILE"; empty where it takes none.
[[nodiscard]] std::string ValueOf(const CLI::Option& flag);

/// Stands in front of a validator's names, with spaces between them, where it takes no others.
inline constexpr std::string_view kChoices = "one of ";
/// The values that an option takes, between spaces; empty where it takes others, too.
[[nodiscard]] std::string ChoicesOf(const CLI::Option& option);

/// Its line in --help, with its default.
[[nodiscard]] std::string TextOf(const CLI::Option& option);

/// "bittern run [FILE] [FLAG...]".
[[nodiscard]] std::string UsageOf(const CLI::App& app);

}  // namespace bittern::cli
