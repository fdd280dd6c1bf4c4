// SPDX-License-Identifier: Apache-2.0
// First words of Ollama and llama.cpp that Bittern does not have as commands: some mean a command
// of ours and are read as that, the others are answered with the command that does it here.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "cli/shared/cli11.hpp"

namespace bittern::cli {

/// A row of the table.
struct FirstWord {
  std::string_view names;     ///< words of one meaning, between spaces: "list ls"
  std::string_view command;   ///< our command that is meant; empty: none
  std::string_view sentence;  ///< without `command`: what to do instead
};

/// All rows; each word is in one of them.
[[nodiscard]] std::span<const FirstWord> FirstWords() noexcept;

/// The words that mean our command `name`, for completion: {"list", "ls"} of models.
[[nodiscard]] std::vector<std::string> OtherWordsOf(std::string_view name);

/// The words of a command line with the first one (the second one after "help") replaced by our
/// command, and the arguments in its order. Words of ours stay as they are. Errors: kUnsupported
/// with the sentence of the row; kInvalidArgument where arguments are missing.
[[nodiscard]] Result<std::vector<std::string>> InOurWords(const CLI::App& app,
                                                          std::span<const std::string> words);

}  // namespace bittern::cli
