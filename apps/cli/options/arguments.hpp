// SPDX-License-Identifier: Apache-2.0
// The command line word by word, before the parser sees it. CLI11 splits a word with one dash into
// letters, so that -rtr would be -r tr; here every word is matched whole, and flags of other
// programs get their answer (foreign_flags.hpp).
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "cli/shared/cli11.hpp"

namespace bittern::cli {

/// A short name with more than one letter, and the long one that the parser knows.
struct FlagAlias {
  std::string_view alias, name;
};
inline constexpr FlagAlias kFlagAliases[] = {
    {"-jf", "--json-schema-file"}, {"-ub", "--ubatch-size"}, {"-ctk", "--cache-type-k"},
    {"-ctv", "--cache-type-v"},    {"-temp", "--temp"},      {"-sys", "--system-prompt"},
    {"-sp", "--special"},          {"-hf", "--hf-repo"},     {"-hfr", "--hf-repo"},
    {"-hr", "--hf-repo"},          {"-hff", "--hf-file"},    {"-hft", "--hf-token"},
    {"-pg", "--prompt-and-gen"},   {"-np", "--parallel"}};

struct Arguments {
  /// A value that was given to an option or stands in an argument's place.
  struct Value {
    std::string flag;   ///< the parser's name of the option or argument
    std::string typed;  ///< the flag as typed; of an argument its name
    std::string text;
  };

  const CLI::App* command = nullptr;              ///< the innermost one named
  std::vector<std::string> words;                 ///< for the parser, in order
  std::vector<std::string> ignored;               ///< flags that were left out, as typed
  bool wants_version = false;                     ///< --version, wherever it stands
  std::map<std::string, std::string> typed = {};  ///< the parser's name of a flag -> as typed
  std::vector<Value> values = {};                 ///< but for free text, such as a prompt

  /// `message` with the parser's name at its front replaced by what was typed.
  [[nodiscard]] std::string AsTyped(std::string message) const;
};

/// The command that the words begin with; `app` itself where they name none.
[[nodiscard]] const CLI::App& NamedCommand(const CLI::App& app, std::span<const std::string> words);

/// Sorts the words of a command line. Errors, naming the word: kInvalidArgument for an unknown
/// command or flag, a flag whose value is missing, a flag of another program that would change the
/// result; kNotFound for a word that stands where the model file should and is none.
[[nodiscard]] Result<Arguments> ReadArguments(const CLI::App& app,
                                              std::span<const std::string> words);

/// "notice: not needed here and ignored: --mlock, -fa\n"; "" where nothing was left out.
[[nodiscard]] std::string IgnoredNotice(const Arguments& arguments);

}  // namespace bittern::cli
