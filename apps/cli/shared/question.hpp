// SPDX-License-Identifier: Apache-2.0
// A question at the terminal before something that costs: a download, a removal.
#pragma once

#include <string_view>

namespace bittern::cli {

/// True if someone can read a question and answer it: standard input and error are terminals.
[[nodiscard]] bool CanAsk() noexcept;

/// Prints `question` and " [y/N] " to standard error and reads a line of standard input, no byte
/// more. True for "y" and "yes" in any letters. Main thread.
[[nodiscard]] bool Ask(std::string_view question);

}  // namespace bittern::cli
